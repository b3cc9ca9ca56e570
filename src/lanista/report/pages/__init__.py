"""The HTML pages: one file each that needs no network."""
