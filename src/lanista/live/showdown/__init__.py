"""Our players on real Showdown servers: connection, battles, batches, replays, evaluation."""
