# Spack's recipe of the Python package, which has the program in it. scripts/release fills in what stands between @ and writes it
# beside the artefacts; it goes to repos/spack_repo/builtin/packages/py_sparsight/package.py of spack-packages.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import depends_on, license, variant, version


class PySparsight(PythonPackage):
    """@DESCRIPTION@."""

    homepage = "@REPOSITORY@"
    pypi = "sparsight/sparsight-@VERSION@.tar.gz"

    license("MIT OR Apache-2.0", checked_by="sparsight")

    version("@VERSION@", sha256="@SDIST_SHA256@")

    variant("scipy", default=True, description="Matrices of scipy")

    depends_on("c", type="build")
    depends_on("rust@1.90:", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-maturin@1.16:1", type="build")
    depends_on("py-numpy@1.24:", type=("build", "run"))
    depends_on("py-scipy@1.12:", type="run", when="+scipy")

    # CUDA is no dependency: driver, NVRTC and cuSPARSE are found when they are first needed.
