"""The simulator in Node workers: processes, battles, deals, saved matches."""
