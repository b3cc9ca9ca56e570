"""What several commands share: flags, line-ups, outputs, tables, progress."""
