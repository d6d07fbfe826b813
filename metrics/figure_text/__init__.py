"""Text in figures: detection, word recognition, end-to-end reading and annotator agreement, as DeTEXT measures them."""
