"""Encoders in TorchScript files: real networks, made here. `make easyocr` runs these, where torch is."""

import numpy as np
import pytest

from otel_validation.errors import EncoderUnavailableError
from otel_validation.vision.encoder import FileEncoder

torch = pytest.importorskip("torch", reason="torch is not installed: `make easyocr` runs these tests where it is")


def picture(seed, size=(40, 60)):
    return np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)


@pytest.mark.filterwarnings("ignore:.torch.jit.trace.:FutureWarning", "ignore:.torch.jit.trace.:DeprecationWarning")
class TestTorchScript:
    def save(self, path, forward):
        pictures = tuple(torch.rand(1, 3, 224, 224) for _ in range(forward.__code__.co_argcount))
        torch.jit.trace(forward, pictures).save(str(path))
        return path

    def test_an_embedding_and_a_distance(self, tmp_path):
        embeds = FileEncoder(self.save(tmp_path / "embeds.pt", lambda x: x.relu().mean(dim=3).mean(dim=2)))
        apart = FileEncoder(self.save(tmp_path / "apart.ts", lambda x, y: (x - y).abs().mean()))
        for encoder in (embeds, apart):
            encoder.warm_up()
            assert encoder.likeness(picture(1), picture(1)) == pytest.approx(1.0)
            assert encoder.likeness(picture(1), 255 - picture(1)) < 1

    def test_a_file_that_is_none(self, tmp_path):
        (tmp_path / "broken.pt").write_bytes(b"no network")
        with pytest.raises(EncoderUnavailableError, match="no TorchScript"):
            FileEncoder(tmp_path / "broken.pt").warm_up()
