"""Looking at a bucket, or at a directory, as a doctor would."""
