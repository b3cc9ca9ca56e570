"""Property tests of tensors try fewer examples: each is dear."""

import torch
from hypothesis import settings

settings.register_profile("learn", settings.get_profile("lanista"), max_examples=40)
settings.load_profile("learn")
# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)
