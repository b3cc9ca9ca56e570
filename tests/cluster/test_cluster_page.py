"""The page on clusters: its Slurm script composes the right commands, its manifest is well-formed.

Neither Slurm nor Kubernetes is here. The script runs with stand-ins for the programs it calls,
which note how they were called. The manifest is held against a schema of the fields it uses.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from lanista.cli.main import parse

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "cluster.md"


def blocks(kind):
    fenced = PAGE.read_text().split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


@pytest.fixture
def script(tmp_path):
    (text,) = [text for text in blocks("bash") if "#SBATCH" in text]
    path = tmp_path / "job.sh"
    path.write_text(text)
    return path


def called(script, nodes):
    """Run the script as Slurm would on the first of `nodes`; return the calls that it makes."""
    folder = script.parent / "bin"
    folder.mkdir()
    log = script.parent / "calls"
    answers = {"hostname": "echo 10.0.0.9 fd00::9", "srun": "", "lanista": "", "sleep": ""}
    for name, answer in answers.items():
        stand_in = folder / name
        note = "" if name == "hostname" else f'echo {name} "$@" >> {log}\n'
        stand_in.write_text(f"#!/bin/bash\n{note}{answer}\n")
        stand_in.chmod(0o755)
    slurm = {
        "SLURM_JOB_NODELIST": "cn[1-4]", "SLURM_NNODES": str(nodes), "SLURM_NTASKS": str(nodes),
        "SLURM_CPUS_PER_TASK": "16", "SLURMD_NODENAME": "cn1",
    }  # fmt: skip
    environment = {**os.environ, **slurm, "PATH": f"{folder}:{os.environ['PATH']}"}
    # Its output ends when those in the background have ended too, whenever they come up.
    subprocess.run(["bash", "-u", "-e", script], env=environment, check=True, capture_output=True)
    return sorted(line for line in log.read_text().splitlines() if not line.startswith("sleep"))


def test_the_slurm_script_is_bash(script):
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_the_slurm_script_starts_one_head_and_joins_the_other_nodes(script):
    each, calls = "--cpus-per-task=16", called(script, 4)
    for call in calls:
        parse(call.partition("lanista ")[2].split())  # A command that there is.
    assert calls == [
        "lanista run showdown --cluster 10.0.0.9:6379",
        f"srun --nodes=1 --ntasks=1 {each} --nodelist=cn1 "
        "lanista cluster start --host 10.0.0.9 --cpus 16",
        f"srun --nodes=3 --ntasks=3 {each} --exclude=cn1 "
        "lanista cluster join 10.0.0.9:6379 --cpus 16",
    ]


def test_on_one_node_the_slurm_script_joins_nobody(script):
    calls = called(script, 1)
    assert len(calls) == 2
    assert not any("join" in call for call in calls)


TEXT, WHOLE = (str,), (int,)
NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
QUANTITY = re.compile(rf"[+-]?{NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][+-]?{NUMBER})?")
POD = {
    "containers!": [
        {
            "name!": TEXT,
            "image": TEXT,
            "imagePullPolicy": TEXT,
            "env": [
                {
                    "name!": TEXT,
                    "value": TEXT,
                    "valueFrom": {"secretKeyRef": {"name": TEXT, "key!": TEXT}},
                }
            ],
            "resources": {"limits": {"*": QUANTITY}, "requests": {"*": QUANTITY}},
            "volumeMounts": [{"name!": TEXT, "mountPath!": TEXT}],
        }
    ],
    "volumes": [
        {"name!": TEXT, "persistentVolumeClaim": {"claimName!": TEXT, "readOnly": (bool,)}}
    ],
}
GROUP = {"rayStartParams": {"*": TEXT}, "template!": {"spec": POD}}
RAY_CLUSTER = {
    "apiVersion!": TEXT,
    "kind!": TEXT,
    "metadata!": {"name!": TEXT},
    "spec!": {
        "rayVersion": TEXT,
        "authOptions": {"mode": re.compile("disabled|token"), "enableK8sTokenAuth": (bool,)},
        "headGroupSpec!": GROUP,
        "workerGroupSpecs": [
            {
                **GROUP,
                "groupName!": TEXT,
                "replicas": WHOLE,
                "minReplicas!": WHOLE,
                "maxReplicas!": WHOLE,
            }
        ],
    },
}
"""The fields of `ray.io/v1` that the manifest uses, those of its pods included, as in KubeRay's CRD
(helm-chart/kuberay-operator/crds/ray.io_rayclusters.yaml, commit 017710c). `!`: it must be there.
`*`: any name. What is not named is unknown."""


def faults(value, schema, where="manifest"):
    """Return what a value does not keep of a schema."""
    if isinstance(schema, tuple):
        return [] if type(value) in schema else [f"{where} is {value!r}"]
    if isinstance(schema, re.Pattern):
        fine = type(value) in (int, str) and schema.fullmatch(str(value))
        return [] if fine else [f"{where} is {value!r}"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [f for n, item in enumerate(value) for f in faults(item, schema[0], f"{where}[{n}]")]
    if not isinstance(value, dict):
        return [f"{where} is no mapping"]
    if "*" in schema:
        return [
            f for key, item in value.items() for f in faults(item, schema["*"], f"{where}.{key}")
        ]
    fields = {name.rstrip("!"): part for name, part in schema.items()}
    missing = [n for n in schema if n.endswith("!") and n.rstrip("!") not in value]
    unknown = [f"{where} has the unknown field {key}" for key in value if key not in fields]
    inner = [
        fault
        for key, item in value.items()
        if key in fields
        for fault in faults(item, fields[key], f"{where}.{key}")
    ]
    return [*(f"{where} lacks {name.rstrip('!')}" for name in missing), *unknown, *inner]


@pytest.fixture
def manifest():
    (text,) = [text for text in blocks("yaml") if "kind: RayCluster" in text]
    return yaml.safe_load(text)


def test_the_manifest_keeps_to_the_fields_of_kuberay(manifest):
    assert faults(manifest, RAY_CLUSTER) == []
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", "RayCluster")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda m: m["spec"].pop("headGroupSpec"), "lacks headGroupSpec"),
        (lambda m: m["spec"].update(rayversion="2"), "unknown field rayversion"),
        (lambda m: m["spec"]["workerGroupSpecs"][0].update(replicas="4"), "replicas is '4'"),
        (
            lambda m: m["spec"]["headGroupSpec"]["rayStartParams"].update({"num-cpus": 4}),
            "num-cpus is 4",
        ),
        (
            lambda m: m["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0].pop("name"),
            "containers[0] lacks name",
        ),
        (lambda m: m["spec"]["workerGroupSpecs"][0].pop("maxReplicas"), "lacks maxReplicas"),
        (lambda m: m["spec"].update(authOptions={"mode": "tokens"}), "mode is 'tokens'"),
        (
            lambda m: m["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"][
                "limits"
            ].update(memory="16GiB"),
            "memory is '16GiB'",
        ),
    ],
)
def test_a_manifest_with_a_fault_is_noticed(manifest, change, fault):
    change(manifest)
    assert any(fault in line for line in faults(manifest, RAY_CLUSTER))


def test_the_volumes_that_containers_mount_are_there_and_groups_have_a_range(manifest):
    groups = [manifest["spec"]["headGroupSpec"], *manifest["spec"]["workerGroupSpecs"]]
    for group in groups:
        pod = group["template"]["spec"]
        mounted = {mount["name"] for c in pod["containers"] for mount in c["volumeMounts"]}
        assert mounted <= {volume["name"] for volume in pod["volumes"]}
    for group in groups[1:]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", group["groupName"])


def test_a_machine_of_the_manifest_wants_a_token(manifest):
    assert manifest["spec"]["authOptions"]["mode"] == "token"


def test_the_image_has_what_the_operators_probes_ask(manifest):
    (build,) = [text for text in blocks("") if "docker build" in text]
    version = manifest["spec"]["rayVersion"]
    assert f"PACKAGES='ray[default]=={version}'" in build
    assert "EXTRAS='[ray]'" in build
    recipe = (PAGE.parents[2] / "Dockerfile").read_text()
    assert 'ARG EXTRAS=""' in recipe
    assert '"/src${EXTRAS}" ${PACKAGES}' in recipe
    assert re.search(r"apt-get install .*\bwget\b", recipe)
