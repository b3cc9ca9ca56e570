"""LearnerLoop: the loop of a run, one learner's loop, what observes it, and imitation."""
