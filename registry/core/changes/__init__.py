"""The events of the change feed: their kinds, the states that they tell, and what changed."""
