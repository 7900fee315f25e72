"""A gradient tape, without a compiler: a small network learns to read digits from plain NumPy code.

The loss is computed operation by operation; `GradientTape` records them, and `Adam` steps along the gradient. It is the
code one writes for TensorFlow, with NumPy's functions in place of TensorFlow's.
"""

import numpy as np

import jitgrad as jg
from jitgrad import nn
from jitgrad.data import load_mnist
from jitgrad.optim import Adam

HIDDEN, BATCH, EPOCHS = 64, 50, 5


def variables(generator):
    """Weights and biases of two dense layers."""
    return [
        jg.Variable(nn.he_normal(generator, (784, HIDDEN), np.float32), name="weight1"),
        jg.Variable(np.zeros(HIDDEN, np.float32), name="bias1"),
        jg.Variable(nn.glorot_uniform(generator, (HIDDEN, 10), np.float32), name="weight2"),
        jg.Variable(np.zeros(10, np.float32), name="bias2"),
    ]


def logits(params, pixels):
    weight1, bias1, weight2, bias2 = params
    return nn.relu(pixels @ weight1 + bias1) @ weight2 + bias2


def loss(params, pixels, labels):
    return np.mean(nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits(params, pixels)))


def main():
    digits = load_mnist()
    train, test = (images.reshape(-1, 784) / np.float32(255) for images in (digits.train_images, digits.test_images))
    train, labels = train[:4000], digits.train_labels[:4000]
    generator = np.random.default_rng(0)
    params = variables(generator)

    optimizer = Adam()
    for epoch in range(EPOCHS):
        losses = []
        for chosen in np.split(generator.permutation(len(train)), len(train) // BATCH):
            with jg.GradientTape() as tape:
                value = loss(params, train[chosen], labels[chosen])
            optimizer.apply_gradients(zip(tape.gradient(value, params), params, strict=True))
            losses.append(float(value))
        right = np.mean(np.argmax(logits(params, test), axis=1) == digits.test_labels)
        print(f"epoch {epoch + 1}  loss {np.mean(losses):.3f}  test accuracy {right:.1%}")
    assert right > 0.88

    # The slope of the loss along a random direction, by the gradient and by a difference quotient.
    doubles = [jg.Variable(param.numpy(), dtype=np.float64) for param in params]
    with jg.GradientTape() as tape:
        value = loss(doubles, train[:100], labels[:100])
    gradient = tape.gradient(value, doubles)
    direction = [generator.normal(size=param.shape) for param in doubles]
    slope = sum(np.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    h = 1e-6
    ahead, behind = (
        loss([p.numpy() + sign * h * d for p, d in zip(doubles, direction, strict=True)], train[:100], labels[:100])
        for sign in (1, -1)
    )
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=1e-5)
    print("check: more than 88 % of the test digits right, the gradient equals a difference quotient")


if __name__ == "__main__":
    main()
