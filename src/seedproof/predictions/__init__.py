"""The input of every verb: predictions of several runs, read and described in one place."""
