"""The binding that is posted: which pod, which node, and the GPU devices it was given."""

import msgspec

from fairway.live.world.binding import binding_body
from fairway.model.device_need import GPU_INDEX, with_devices
from fairway.testing import pod


def test_the_devices_of_a_pod_go_with_its_binding() -> None:
    plain = msgspec.json.decode(binding_body(pod("p", uid="1"), "n"))
    assert plain["metadata"] == {"name": "p", "namespace": "default", "uid": "1"}
    assert plain["target"] == {"kind": "Node", "name": "n"}
    shared = msgspec.json.decode(binding_body(with_devices(pod("p", uid="1"), (0, 3)), "n"))
    assert shared["metadata"]["annotations"] == {GPU_INDEX: "0-3"}
