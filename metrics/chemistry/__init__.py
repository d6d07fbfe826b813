"""CROCS: lines of handwritten chemistry with Chemfig molecules, compared as graphs."""
