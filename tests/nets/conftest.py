"""One thread: a second one costs more than it brings on tensors this small."""

import torch

torch.set_num_threads(1)
