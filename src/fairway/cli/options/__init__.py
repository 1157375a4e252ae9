"""Options that several commands share, each kind with what it makes of its values; nothing heavy is imported here."""
