"""Property tests here have no wall-clock limit: the first call of a tensor operation is slow."""

import torch
from hypothesis import settings

settings.register_profile("learn", deadline=None, max_examples=40)
settings.load_profile("learn")
# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)
