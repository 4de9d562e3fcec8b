"""Golden models on arrays, and commands, from Python. Run by `python -m unittest`."""

import doctest
import pathlib
import tempfile
import unittest

import numpy as np

import senbazuru
from senbazuru import kelle, kllm, tender, titanus

NAMES = {"np": np, "senbazuru": senbazuru, "kelle": kelle, "kllm": kllm, "tender": tender, "titanus": titanus}


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, _: object) -> unittest.TestSuite:
    """The examples of the native modules run, too."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    count = 0
    for module in (kelle, kllm, tender, titanus):
        for name in module.__all__:
            for example in finder.find(getattr(module, name), name, module=False, globs=dict(NAMES)):
                tests.addTest(doctest.DocTestCase(example))
                count += bool(example.examples)
    assert count >= 7, count
    return tests


class Models(unittest.TestCase):
    def test_tender_by_hand(self) -> None:
        # The second channel has the largest range, so it is in group 0. In group 1 a step is half as large.
        x = np.array([[1.0, -8.0], [3.0, 8.0]])
        calibration = tender.Calibration(x, bits=4, groups=2)
        np.testing.assert_array_equal(calibration.bias, [2.0, 0.0])
        np.testing.assert_array_equal(calibration.group, [1, 0])
        np.testing.assert_array_equal(calibration.order, [1, 0])
        np.testing.assert_array_equal(calibration.scales, [8 / 7, 4 / 7])
        np.testing.assert_array_equal(calibration.quantize(x), [[-2, -7], [2, 7]])
        np.testing.assert_array_equal(calibration.dequantize(calibration.quantize(x)), [[2 - 8 / 7, -8], [2 + 8 / 7, 8]])

    def test_a_product_in_more_bits_is_closer(self) -> None:
        random = np.random.default_rng(1)
        x, w = random.normal(size=(5, 64)), random.normal(size=(64, 3))
        x[:, 7] *= 60
        errors = [np.abs(tender.product(x, w, bits=bits) - x @ w).max() for bits in (2, 4, 8)]
        self.assertGreater(errors[0], errors[1])
        self.assertGreater(errors[1], errors[2])
        one, eight = (np.abs(tender.product(x, w, groups=groups) - x @ w).max() for groups in (1, 8))
        self.assertLess(eight, one)

    def test_kllm_finds_the_extremes(self) -> None:
        x = np.random.default_rng(2).normal(size=1000).astype(np.float16)
        largest, smallest, comparisons = kllm.top_k(x, 5)
        np.testing.assert_array_equal(x[largest], np.sort(x)[::-1][:5])
        np.testing.assert_array_equal(x[smallest], np.sort(x)[:5])
        # The paper's bound for a power of two: 1.5 N + 2 k log2 N.
        self.assertLessEqual(comparisons, 1.5 * 1024 + 2 * 5 * 10)

    def test_kllm_keeps_outliers(self) -> None:
        x = np.random.default_rng(3).normal(size=(4, 200)).astype(np.float16)
        x[:, 11] = 100
        back = kllm.round_trip(x, bits=3, outliers=0.01)
        np.testing.assert_array_equal(back[:, 11], 100)
        self.assertLess(np.abs(back.astype(float) - x).max(), 2)
        exact = x.astype(float) @ np.eye(200)[:, :2]
        product = kllm.product(x, np.eye(200)[:, :2].astype(np.float16), bits=4)
        self.assertEqual(product.dtype, np.float16)
        self.assertLess(np.abs(product - exact).max(), 1)

    def test_titanus_restores_what_it_keeps(self) -> None:
        x = np.array([[0, 3, -128], [5, 7, 127], [-5, 0, 1]], np.int8)
        whole = titanus.Compressed(x, bits=8, prefill=3)
        decoded = whole.decoded()
        np.testing.assert_array_equal(decoded == 0, x == 0)
        self.assertLess(np.abs(decoded.astype(int) - x).max(), 2)
        self.assertEqual(whole.bits["index"], 9)
        self.assertEqual(whole.bits["total"], sum(bits for name, bits in whole.bits.items() if name != "total"))
        self.assertEqual(whole.quantized().dtype, np.uint8)

    def test_kelle_evicts_the_least_important(self) -> None:
        cache = kelle.Cache(tokens=4, sink=1, window=1, prompt=np.array([0.0, 5.0, 1.0, 0.5]))
        self.assertEqual(cache.insert(), 2)
        np.testing.assert_array_equal(cache.tokens, [0, 1, 3, 4])
        np.testing.assert_array_equal(cache.scores, [0.0, 5.0, 0.5, 0.0])
        self.assertEqual(len(cache), 4)

    def test_what_is_wrong_is_refused(self) -> None:
        x, half, whole = np.ones((2, 2)), np.ones((2, 2), np.float16), np.ones((2, 2), np.int8)
        values = [
            ("bits is 9, allowed: 2 to 8", lambda: tender.Calibration(x, bits=9)),
            ("groups is 33", lambda: tender.product(x, x, groups=33)),
            ("x has 2 columns, wanted are 3", lambda: tender.product(x, np.ones((3, 2)))),
            ("chunk is 0", lambda: tender.product(x, x, chunk=0)),
            ("cannot be quantized", lambda: tender.Calibration(x * np.nan)),
            (r"x has the shape \[0, 2\]", lambda: tender.Calibration(x[:0])),
            ("k is 3, allowed: 1 to 2", lambda: kllm.top_k(half[0], 3)),
            ("outliers is 2", lambda: kllm.round_trip(half, outliers=2)),
            ("bits is 0, allowed: 1 to 8", lambda: kllm.codebook(x[0], bits=0)),
            ("prefill is 3", lambda: titanus.Compressed(whole, prefill=3)),
            ("levels is 0", lambda: titanus.Compressed(whole, levels=0)),
            ("threshold is 129", lambda: titanus.prune(whole, 129)),
            ("sink 1 and window 1 fill", lambda: kelle.Cache(2, 1, 1)),
            ("scores has 1 elements, wanted are 2", lambda: kelle.Cache(3, prompt=x[0]).attend(x[0, :1])),
        ]
        for text, wrong in values:
            with self.assertRaisesRegex(ValueError, text):
                wrong()
        types = [
            ("w is an array of float16 with 2 dimensions, wanted is an array of float64 with 2", lambda: tender.product(x, half)),
            ("x is an array of float16 with 2 dimensions, wanted is an array of float16 with 1", lambda: kllm.top_k(half, 1)),
            ("x is a list, wanted is an array of int8 with 2", lambda: titanus.prune([1], 1)),
        ]
        for text, wrong in types:
            with self.assertRaisesRegex(TypeError, text):
                wrong()


class Commands(unittest.TestCase):
    def test_blocks_and_their_verilog(self) -> None:
        names = set(senbazuru.blocks()["block"])
        self.assertLessEqual({"orizuru", "tender_top"}, names)
        about = senbazuru.info("mac_mesh", {"rows": 2})
        self.assertEqual(about["block"], "mac_mesh")
        with tempfile.TemporaryDirectory() as folder:
            files = senbazuru.generate("mac_mesh", pathlib.Path(folder) / "mesh", {"rows": 2, "columns": 2})
            self.assertTrue(any(path.suffix == ".v" for path in files), files)

    def test_errors_say_what_the_command_says(self) -> None:
        with self.assertRaises(senbazuru.CommandError) as caught:
            senbazuru.info("mac_mesh", {"rows": 0})
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("rows", str(caught.exception))

    def test_a_comparison(self) -> None:
        asked = {"models": ["Llama-2-7B"], "phase": "token", "context": [128, 1024], "batch": [1], "bandwidth": [64]}
        frame = senbazuru.compare(["tender", "kelle"], **asked)
        self.assertEqual(list(frame["machine"]), ["tender", "kelle", "tender", "kelle"])
        self.assertTrue((frame["cycles"] > 0).all())

    def test_a_sweep_runs_its_points(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "mesh.toml"
            file.write_text('title = "Meshes"\nblock = "mac_mesh"\nstages = ["gen"]\n[axes]\nrows = [1, 2]\ncolumns = [1]\n')
            frame = senbazuru.sweep(file, output=pathlib.Path(folder) / "out", store=pathlib.Path(folder) / "store")
            self.assertEqual(list(frame["rows"]), [1, 2])
            self.assertTrue(frame["passed"].all())
