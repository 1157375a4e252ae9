"""Opening runs that may be anybody's: the file, its tables, what they hold, and what refers to what."""
