"""One update: unrolls as minibatches and shards, targets, a step of the optimiser, its numbers."""
