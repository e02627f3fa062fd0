# Shared by the tests with several processes: where mpirun is, and what it needs in a container.
import os
import shutil

MPIRUN = shutil.which("mpirun")

# In a container: as root, more processes than cores, shared memory or the loopback interface only.
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_btl_tcp_if_include="lo",
    OMPI_MCA_oob_tcp_if_include="lo",
    OMPI_MCA_btl_vader_single_copy_mechanism="none",
    OMPI_MCA_mpi_yield_when_idle="1",
)
# MPI does not give back all that it takes, and most of what took it is unloaded by the time that is
# told: leaks are looked for in single processes.
if os.environ.get("DLTRAIN_SANITIZED") == "1":
    ENVIRONMENT["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
