"""What tests beside PyTorch share: its side of a training, and the comparison of what was learnt."""

import numpy as np


def losses_of(model, optimizer, loss_of, n, norm=None, schedule=None):
    """The losses of `n` steps on the whole set: `loss_of()` is a step's loss, to whose `norm` gradients are clipped, and `schedule` sets the next rate."""
    losses = []
    for _ in range(n):
        optimizer.zero_grad()
        loss = loss_of()
        losses.append(loss.item())
        loss.backward()
        if norm is not None:
            from torch.nn.utils import clip_grad_norm_

            clip_grad_norm_(model.parameters(), norm)
        optimizer.step()
        if schedule is not None:
            schedule.step()
    return losses


def expect_same(layers, modules, bound):
    """Our pairs of weights and bias are those of PyTorch's linear layers or convolutions, within `bound`."""
    modules = list(modules)
    assert len(layers) == len(modules)
    for (weights, bias), module in zip(layers, modules):
        theirs = module.weight.detach().numpy()
        theirs = theirs.transpose(2, 3, 1, 0) if theirs.ndim == 4 else theirs.T
        assert np.abs(weights - theirs).max() < bound
        assert np.abs(bias - module.bias.detach().numpy()).max() < bound
