"""What scripts/make-reference.py makes the pages of docs/reference of, a module for each kind of source and of page."""
