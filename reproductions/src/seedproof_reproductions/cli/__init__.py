"""`seedproof reproduce`: a paper's recipe, its results and their page."""
