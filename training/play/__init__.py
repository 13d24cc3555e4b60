"""Deals with people at the table: the session, what is told of it, the score sheet; on a terminal and in a browser."""
