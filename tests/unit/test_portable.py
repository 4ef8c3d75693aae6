"""A portable run: which processors can, and that torch takes its products from numpy."""

import os
import subprocess
import sys

import pytest

from onelayer import portable
from onelayer.errors import OnelayerError


@pytest.mark.parametrize(
    ("flags", "machine", "fault"),
    [
        ("fpu sse2", "x86_64", "needs a processor with avx2"),
        ("fpu avx2", "x86_64", "needs a processor with fma"),
        ("fpu avx2 fma", "aarch64", "needs an x86-64 processor, found aarch64"),
    ],
)
def test_a_processor_that_cannot_is_refused(tmp_path, flags, machine, fault):
    (tmp_path / "cpuinfo").write_text(f"model name : old\nflags\t\t: {flags}\n")
    with pytest.raises(OnelayerError, match=fault):
        portable.check_processor(tmp_path / "cpuinfo", machine)


def test_products_are_numpys_and_have_gradients():
    program = """
import numpy as np, torch
from onelayer import portable
portable.start()
torch.manual_seed(0)
a, b = torch.randn(33, 70, requires_grad=True), torch.randn(70, 20)
product = a @ b
assert np.array_equal(product.detach().numpy(), a.detach().numpy() @ b.numpy())
product.sum().backward()
torch.testing.assert_close(a.grad, b.sum(1).expand(33, -1))
plain = a.detach().numpy() @ b.numpy()
added = torch.addmm(torch.ones(20), a.detach(), b)
assert np.array_equal(added.numpy(), plain + 1)
halved = torch.addmm(torch.ones(20), a.detach(), b, beta=2, alpha=0.5)
np.testing.assert_allclose(halved.numpy(), 2 + plain / 2, rtol=1e-4, atol=1e-5)
twice = torch.addmm(torch.ones(20), a.detach(), b, beta=2)
np.testing.assert_allclose(twice.numpy(), 2 + plain, rtol=1e-4, atol=1e-5)
both = torch.baddbmm(torch.ones(2, 1, 20), a.detach().expand(2, -1, -1), b.expand(2, -1, -1))
np.testing.assert_allclose(both[1].numpy(), plain + 1, rtol=1e-4, atol=1e-5)
c = torch.rand(5, 3)
assert np.array_equal(c.log().numpy(), np.log(c.numpy()))
(itself := c.clone()).log_()
assert torch.equal(itself, c.log())
assert torch.isnan(torch.tensor([-1.0]).sqrt())
whole = torch.arange(6).view(2, 3) @ torch.arange(3).view(3, 1)
assert torch.equal(whole, torch.tensor([[5], [14]]))
portable.finish()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | portable.SWITCHES,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
