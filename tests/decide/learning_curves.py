"""Accuracy on the validation part after each epoch, as trained by this package on 2026-11-30.

Two shared cores of an AMD EPYC, TensorFlow 2.21, Keras 3.15, steps_per_execution 8, XLA off. digits_mlp: 64-64, 1,024
examples x 6 epochs, batch 128, RMSprop; cifar_mlp: 3000-1000, 4,096 x 6, batch 32, SGD. Columns: model, seed, policy,
batch over the user's own, then one accuracy an epoch. Seeds of baseline and candidate are paired.
"""

from __future__ import annotations

from dataclasses import dataclass

from autotune.trial import EpochPoint

MIDDLE = 3
EVALUATED = (MIDDLE, 6)
UNTRAINED = 0.1

_TABLE = """
digits_mlp 0 float32         1  0.6237 0.8293 0.8850 0.8815 0.8885 0.8885
digits_mlp 0 float32         2  0.2125 0.5923 0.8049 0.8746 0.8711 0.8711
digits_mlp 0 float32         4  0.0976 0.3693 0.4530 0.7666 0.7561 0.7596
digits_mlp 0 mixed_bfloat16  1  0.5923 0.8293 0.8746 0.8850 0.8920 0.8920
digits_mlp 0 mixed_bfloat16  4  0.0976 0.3937 0.4983 0.7003 0.7909 0.7909
digits_mlp 1 float32         1  0.7213 0.7805 0.8746 0.8606 0.8746 0.8746
digits_mlp 1 float32         2  0.2265 0.6411 0.7317 0.8153 0.8328 0.8258
digits_mlp 1 float32         4  0.2787 0.1324 0.6098 0.7561 0.7944 0.7944
digits_mlp 1 mixed_bfloat16  1  0.7213 0.7944 0.8746 0.8467 0.8711 0.8711
digits_mlp 1 mixed_bfloat16  4  0.2822 0.1882 0.6655 0.7735 0.7979 0.7909
digits_mlp 2 float32         1  0.7491 0.8502 0.9059 0.9059 0.9059 0.9094
digits_mlp 2 float32         2  0.3868 0.5679 0.8606 0.8920 0.8990 0.8990
digits_mlp 2 float32         4  0.2195 0.2544 0.6132 0.8258 0.8502 0.8537
digits_mlp 2 mixed_bfloat16  1  0.7840 0.8293 0.9059 0.9059 0.9059 0.9059
digits_mlp 2 mixed_bfloat16  4  0.2091 0.2753 0.5540 0.8328 0.8537 0.8606
digits_mlp 3 float32         1  0.5052 0.8397 0.8362 0.8711 0.8676 0.8746
digits_mlp 3 float32         2  0.3415 0.4425 0.7387 0.8571 0.8711 0.8676
digits_mlp 3 float32         4  0.1185 0.1080 0.5261 0.7456 0.7561 0.7596
digits_mlp 3 mixed_bfloat16  1  0.4739 0.8537 0.8362 0.8676 0.8676 0.8746
digits_mlp 3 mixed_bfloat16  4  0.1220 0.1010 0.5889 0.7422 0.7526 0.7596
digits_mlp 4 float32         1  0.5714 0.8397 0.8537 0.8885 0.8920 0.8885
digits_mlp 4 float32         2  0.3902 0.6237 0.8014 0.8571 0.8676 0.8676
digits_mlp 4 float32         4  0.1742 0.2787 0.4460 0.7840 0.8014 0.8049
digits_mlp 4 mixed_bfloat16  1  0.5575 0.8223 0.8467 0.8815 0.8850 0.8815
digits_mlp 4 mixed_bfloat16  4  0.1707 0.2613 0.4983 0.7700 0.8084 0.8118
digits_mlp 5 float32         1  0.6307 0.8362 0.8780 0.9024 0.9024 0.8955
digits_mlp 5 float32         2  0.3519 0.5784 0.8606 0.8850 0.8990 0.9024
digits_mlp 5 float32         4  0.2125 0.3206 0.5296 0.7666 0.8188 0.8188
digits_mlp 5 mixed_bfloat16  1  0.6620 0.7700 0.8850 0.9164 0.9059 0.9024
digits_mlp 5 mixed_bfloat16  4  0.2195 0.3380 0.5923 0.7596 0.8188 0.8188
digits_mlp 6 float32         1  0.6167 0.8049 0.8606 0.8502 0.8780 0.8780
digits_mlp 6 float32         2  0.2125 0.7422 0.7875 0.8467 0.8502 0.8537
digits_mlp 6 float32         4  0.1324 0.1010 0.6829 0.7944 0.8014 0.8014
digits_mlp 6 mixed_bfloat16  1  0.6307 0.7805 0.8606 0.8606 0.8746 0.8815
digits_mlp 6 mixed_bfloat16  4  0.1289 0.1080 0.7178 0.7700 0.7979 0.8014
digits_mlp 7 float32         1  0.6202 0.8014 0.8850 0.8711 0.8920 0.8990
digits_mlp 7 float32         2  0.4111 0.6098 0.7491 0.8362 0.8467 0.8467
digits_mlp 7 float32         4  0.2230 0.2927 0.6098 0.7491 0.7770 0.7770
digits_mlp 7 mixed_bfloat16  1  0.6063 0.8153 0.8815 0.8641 0.8955 0.8990
digits_mlp 7 mixed_bfloat16  4  0.2230 0.3171 0.5610 0.7909 0.8118 0.8049
cifar_mlp  0 float32         1  0.2964 0.2932 0.3356 0.3686 0.3790 0.3786
cifar_mlp  0 float32         2  0.2482 0.2774 0.3282 0.3630 0.3720 0.3760
cifar_mlp  0 float32         4  0.2610 0.2936 0.3080 0.3610 0.3718 0.3694
cifar_mlp  0 float32         8  0.2076 0.2542 0.2530 0.3498 0.3544 0.3562
cifar_mlp  0 float32        16  0.0998 0.1992 0.2058 0.2966 0.3034 0.3056
cifar_mlp  0 mixed_bfloat16  1  0.2930 0.2976 0.3366 0.3692 0.3784 0.3802
cifar_mlp  0 mixed_bfloat16  4  0.2600 0.2950 0.3064 0.3590 0.3692 0.3672
cifar_mlp  0 mixed_bfloat16 16  0.1004 0.1928 0.2480 0.2968 0.3072 0.3050
cifar_mlp  1 float32         1  0.2730 0.3308 0.3434 0.3718 0.3706 0.3764
cifar_mlp  1 float32         2  0.2480 0.3104 0.3346 0.3664 0.3688 0.3772
cifar_mlp  1 float32         4  0.2310 0.2550 0.2924 0.3588 0.3646 0.3706
cifar_mlp  1 float32         8  0.1778 0.2578 0.2536 0.3428 0.3532 0.3524
cifar_mlp  1 float32        16  0.1402 0.2104 0.2232 0.2858 0.3042 0.3052
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One training."""

    model: str
    seed: int
    policy: str
    factor: int
    accuracy: tuple[float, ...]

    @property
    def is_baseline(self) -> bool:
        return self.policy == "float32" and self.factor == 1

    @property
    def curve(self) -> tuple[EpochPoint, ...]:
        """As a study has it, evaluated in the middle and at the end."""
        return tuple(
            EpochPoint(epoch, 1.0, value if epoch in EVALUATED else None, float(epoch))
            for epoch, value in enumerate(self.accuracy, 1)
        )


def recorded() -> list[Recorded]:
    """All of them."""
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    return [Recorded(r[0], int(r[1]), r[2], int(r[3]), tuple(map(float, r[4:]))) for r in rows]
