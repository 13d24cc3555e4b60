"""How strong a player is: duplicate deals, tournaments, statistics and behaviour."""
