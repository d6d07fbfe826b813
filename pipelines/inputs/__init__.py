"""What a run reads: its files, their first records, and whether these fit the benchmark."""
