"""Image encoders that an operator points to: how alike two pictures are to a network.

An ONNX file runs on onnxruntime, which is a dependency; a TorchScript file needs torch. Either is an embedding network
(CLIP's image tower, DINOv2: one picture in, a vector out) or a distance (LPIPS: two pictures in, a number out).
"""

from __future__ import annotations

import importlib
import json
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import cv2
import numpy as np
import numpy.typing as npt

from otel_validation.errors import EncoderUnavailableError

if TYPE_CHECKING:
    from otel_validation.vision.ocr.engine import Pixels

Floats = npt.NDArray[np.float32]

SIDE = 224
"""Pixels on a side that a picture is given in where the file does not say: that of CLIP's and DINOv2's base models."""
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's, with which DINOv2 is trained. An ONNX file may say otherwise: metadata `mean` and `std`, JSON lists."""
ONNX, TORCHSCRIPT = frozenset({".onnx"}), frozenset({".pt", ".pth", ".ts", ".torchscript"})


class Encoder(Protocol):
    """Compares two pictures. Every method may be called from several threads at once."""

    def likeness(self, one: Pixels, two: Pixels) -> float:
        """How alike two RGB pictures are, at most 1.0 for equal ones: the cosine of their embeddings (-1..1), or one
        less their distance. Raises EncoderUnavailableError where the network cannot be used for that.
        """

    def warm_up(self) -> None:
        """Load the network; raises EncoderUnavailableError with what to install or to change."""


@dataclass(frozen=True, slots=True)
class _Input:
    """How a network wants its pictures: how many of them, their sides, where the colours are, how they are scaled."""

    count: int = 1
    height: int = SIDE
    width: int = SIDE
    colours_last: bool = False
    kind: str = "float32"
    mean: tuple[float, ...] = MEAN
    deviation: tuple[float, ...] = DEVIATION

    def prepared(self, pixels: Pixels) -> npt.NDArray[Any]:
        """The picture as a batch of one."""
        shrinks = pixels.shape[0] > self.height and pixels.shape[1] > self.width
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        sized = np.asarray(cv2.resize(pixels, (self.width, self.height), interpolation=how))
        if self.kind != "uint8":
            mean, deviation = np.array(self.mean, np.float32), np.array(self.deviation, np.float32)
            sized = ((sized.astype(np.float32) / 255 - mean) / deviation).astype(self.kind)
        return (sized if self.colours_last else np.ascontiguousarray(sized.transpose(2, 0, 1)))[None]


class _Network(Protocol):
    input: _Input

    def run(self, pictures: Sequence[npt.NDArray[Any]]) -> Floats: ...


class FileEncoder:
    """The encoder in an ONNX or TorchScript file, loaded on first use.

    Raises EncoderUnavailableError at once where there is no such file, or its name is of neither kind.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix.lower() not in ONNX | TORCHSCRIPT:
            names = ", ".join(sorted(ONNX | TORCHSCRIPT))
            raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: {path} is none of {names}")
        if not path.is_file():
            raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: there is no file {path}")
        self._path = path
        self._lock = threading.Lock()
        self._network: _Network | None = None

    def warm_up(self) -> None:
        """Load the network and run it once; raises EncoderUnavailableError with what to install or to change."""
        picture = np.full((SIDE, SIDE, 3), 127, np.uint8)
        picture[:, SIDE // 2 :] = 255
        self.likeness(picture, picture)

    def likeness(self, one: Pixels, two: Pixels) -> float:
        """See Encoder."""
        network = self._loaded()
        first, second = network.input.prepared(one), network.input.prepared(two)
        if network.input.count == 2:
            return 1.0 - _number(network.run([first, second]))
        return _cosine(_vector(network.run([first])), _vector(network.run([second])))

    def _loaded(self) -> _Network:
        with self._lock:
            if self._network is None:
                kind = _OnnxNetwork if self._path.suffix.lower() in ONNX else _TorchNetwork
                self._network = kind(self._path)
            return self._network


class _OnnxNetwork:
    def __init__(self, path: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise EncoderUnavailableError(
                f"RPA_SIMILARITY_ENCODER: {path} is no ONNX network that runs here"
            ) from error
        wanted = self._session.get_inputs()
        if len(wanted) not in {1, 2} or any(len(one.shape) != 4 for one in wanted):
            raise EncoderUnavailableError(
                f"RPA_SIMILARITY_ENCODER: {path} must take one picture (an embedding: export the image tower alone) or "
                "two (a distance), as tensors of four dimensions"
            )
        self._names = [one.name for one in wanted]
        self.input = _onnx_input(wanted, self._session.get_modelmeta().custom_metadata_map)

    def run(self, pictures: Sequence[npt.NDArray[Any]]) -> Floats:
        outputs = self._session.run(None, dict(zip(self._names, pictures, strict=True)))
        return np.asarray(outputs[0], np.float32)


def _onnx_input(wanted: Sequence[Any], told: dict[str, str]) -> _Input:
    shape = wanted[0].shape
    last = shape[3] == 3 and shape[1] != 3
    height, width = (
        side if isinstance(side, int) and side > 0 else SIDE for side in (shape[1:3] if last else shape[2:])
    )
    kinds = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(uint8)": "uint8"}
    if wanted[0].type not in kinds:
        raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: pictures of type {wanted[0].type} are not supported")
    mean, deviation = _told(told, "mean", MEAN), _told(told, "std", DEVIATION)
    return _Input(len(wanted), height, width, last, kinds[wanted[0].type], mean, deviation)


def _told(metadata: dict[str, str], name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    if name not in metadata:
        return default
    try:
        values = tuple(float(value) for value in json.loads(metadata[name]))
    except (ValueError, TypeError):
        values = ()
    if len(values) != 3 or (name == "std" and not all(values)):
        raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: the metadata `{name}` must be a list of three numbers")
    return values


class _TorchNetwork:
    def __init__(self, path: Path) -> None:
        try:
            self._torch: Any = importlib.import_module("torch")
        except ImportError as error:
            raise EncoderUnavailableError(
                "RPA_SIMILARITY_ENCODER: a TorchScript encoder needs torch: pip install torch (or export it to ONNX)"
            ) from error
        try:
            with warnings.catch_warnings():
                # torch calls the format deprecated from 2.9 on; the operator has chosen it.
                warnings.simplefilter("ignore")
                self._module = self._torch.jit.load(str(path), map_location="cpu").eval()
        except Exception as error:
            raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: {path} is no TorchScript network") from error
        schema = self._module.forward.schema.arguments
        self.input = _Input(count=min(2, max(1, len(schema) - 1)))

    def run(self, pictures: Sequence[npt.NDArray[Any]]) -> Floats:
        with self._torch.inference_mode():
            answer = self._module(*(self._torch.from_numpy(picture) for picture in pictures))
        answer = answer[0] if isinstance(answer, tuple | list) else answer
        return np.asarray(answer.float().numpy(), np.float32)


def _vector(output: Floats) -> Floats:
    """The embedding in a network's output: a vector, the first of a row of tokens, the mean over a map of features."""
    if output.ndim == 3:
        output = output[:, 0]
    elif output.ndim == 4:
        output = output.mean(axis=(2, 3))
    if output.ndim != 2 or output.shape[1] < 2:
        raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: an output of shape {output.shape} is no embedding")
    return np.asarray(output[0])


def _number(output: Floats) -> float:
    if output.size != 1:
        raise EncoderUnavailableError(f"RPA_SIMILARITY_ENCODER: an output of shape {output.shape} is no distance")
    return float(output.ravel()[0])


def _cosine(one: Floats, two: Floats) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(two))
    return float(one @ two) / length if length > 0 else 0.0
