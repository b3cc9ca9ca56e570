"""The last layer of a policy: a logit for every choice, by number or by the tokens it is about."""
