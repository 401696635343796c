"""How many seeds, and what so many can show."""
