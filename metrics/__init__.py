"""What a score is: plain Python and NumPy, without Apache Beam."""
