/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/nccl-variables.h"

#include <algorithm>

namespace scenario
{

namespace
{

/// Those that do something here, or might be thought to.
std::vector<NcclVariable>
Rows()
{
    return {
        {"NCCL_ALGO",
         NcclUse::kAlgorithm,
         "algorithms that are chosen among, by operation: Ring, Tree (double-binary-tree), "
         "CollnetChain, CollnetDirect, NVLS, NVLSTree, PAT"},
        {"NCCL_BUFFSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_COLLNET_ENABLE",
         NcclUse::kSwitch,
         "0: collnet-direct, collnet-chain and sharp are not chosen",
         {},
         {"collnet-direct", "collnet-chain", "sharp"}},
        {"NCCL_COLLNET_NODE_THRESHOLD",
         NcclUse::kElsewhere,
         "choices are --algorithm and --protocol here"},
        {"NCCL_CROSS_NIC",
         NcclUse::kElsewhere,
         "a channel keeps to its NIC on all servers here, as 0 says"},
        {"NCCL_CTA_POLICY", NcclUse::kElsewhere, "channels are --channels here"},
        {"NCCL_IB_ADAPTIVE_ROUTING", NcclUse::kElsewhere, "switches route as --load-balancer says"},
        {"NCCL_IB_AR_THRESHOLD", NcclUse::kElsewhere, "switches route as --load-balancer says"},
        {"NCCL_IB_DISABLE", NcclUse::kOnly, "sockets are not simulated", {"0"}},
        {"NCCL_IB_FIFO_TC", NcclUse::kElsewhere, "messages that return credit are not simulated"},
        {"NCCL_IB_GDR_LEVEL", NcclUse::kElsewhere, "NICs reach the memory of GPUs directly here"},
        {"NCCL_IB_HCA", NcclUse::kElsewhere, "the NICs of a server are --nics-per-server here"},
        {"NCCL_IB_QPS_PER_CONNECTION", NcclUse::kQueuePairs, "--qps-per-connection"},
        {"NCCL_IB_RETRY_CNT", NcclUse::kRetries, "--retry-count"},
        {"NCCL_IB_SL", NcclUse::kElsewhere, "all collectives are in one class of traffic here"},
        {"NCCL_IB_SPLIT_DATA_ON_QPS", NcclUse::kSplit, "--split-data-on-qps"},
        {"NCCL_IB_TC", NcclUse::kElsewhere, "all collectives are in one class of traffic here"},
        {"NCCL_IB_TIMEOUT", NcclUse::kTimeout, "--timeout-exponent"},
        {"NCCL_LL128_BUFFSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_LL128_NTHREADS",
         NcclUse::kElsewhere,
         "what a kernel takes is in the server's library (--server)"},
        {"NCCL_LL_BUFFSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_LL_THRESHOLD",
         NcclUse::kElsewhere,
         "NCCL has it no more since 2.5; sizes are chosen by --algorithm=NAME@FROM-TO here"},
        {"NCCL_MAX_CTAS",
         NcclUse::kMaxChannels,
         "a bound of --channels, of collectives that add up or pass on"},
        {"NCCL_MAX_NCHANNELS",
         NcclUse::kMaxChannels,
         "a bound of --channels, of collectives that add up or pass on"},
        {"NCCL_MAX_NRINGS",
         NcclUse::kMaxChannels,
         "a bound of --channels, of collectives that add up or pass on",
         {},
         {},
         {"NCCL_MAX_NCHANNELS"}},
        {"NCCL_MAX_P2P_NCHANNELS",
         NcclUse::kElsewhere,
         "how many messages a send is cut into is --channels here"},
        {"NCCL_MIN_CTAS",
         NcclUse::kMinChannels,
         "a bound of --channels, of collectives that add up or pass on"},
        {"NCCL_MIN_NCHANNELS",
         NcclUse::kMinChannels,
         "a bound of --channels, of collectives that add up or pass on"},
        {"NCCL_MIN_NRINGS",
         NcclUse::kMinChannels,
         "a bound of --channels, of collectives that add up or pass on",
         {},
         {},
         {"NCCL_MIN_NCHANNELS"}},
        {"NCCL_MIN_P2P_NCHANNELS",
         NcclUse::kElsewhere,
         "how many messages a send is cut into is --channels here"},
        {"NCCL_MNNVL_ENABLE",
         NcclUse::kElsewhere,
         "GPUs with NVLink between them are one server here (--server)"},
        {"NCCL_NCHANNELS_PER_NET_PEER",
         NcclUse::kElsewhere,
         "how many messages a send is cut into is --channels here"},
        {"NCCL_NET",
         NcclUse::kOnly,
         "networks of sockets and of plugins are not simulated",
         {"IB"}},
        {"NCCL_NETDEVS_POLICY",
         NcclUse::kElsewhere,
         "the NICs of a server are --nics-per-server here"},
        {"NCCL_NET_GDR_LEVEL", NcclUse::kElsewhere, "NICs reach the memory of GPUs directly here"},
        {"NCCL_NET_GDR_READ", NcclUse::kElsewhere, "NICs reach the memory of GPUs directly here"},
        {"NCCL_NET_OVERHEAD",
         NcclUse::kElsewhere,
         "what a message takes is in the server's library (--server)"},
        {"NCCL_NTHREADS",
         NcclUse::kElsewhere,
         "what a kernel takes is in the server's library (--server)"},
        {"NCCL_NVLSTREE_MAX_CHUNKSIZE",
         NcclUse::kElsewhere,
         "sizes of messages are --pipeline here"},
        {"NCCL_NVLS_CHUNKSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_NVLS_ENABLE",
         NcclUse::kSwitch,
         "0: nvls and nvls-tree are not chosen",
         {},
         {"nvls", "nvls-tree"}},
        {"NCCL_NVLS_NCHANNELS", NcclUse::kElsewhere, "channels are --channels here"},
        {"NCCL_P2P_DISABLE",
         NcclUse::kOnly,
         "GPUs of a server exchange over its links here, never through host memory",
         {"0"}},
        {"NCCL_P2P_LEVEL",
         NcclUse::kOnly,
         "GPUs of a server exchange over its links here, never through host memory",
         {"NVL", "PIX", "PXB", "PHB", "SYS", "1", "2", "3", "4", "5"}},
        {"NCCL_P2P_LL_THRESHOLD",
         NcclUse::kElsewhere,
         "sends and receives have no choice of a protocol here"},
        {"NCCL_P2P_NET_CHUNKSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_P2P_NVL_CHUNKSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_P2P_PCI_CHUNKSIZE", NcclUse::kElsewhere, "sizes of messages are --pipeline here"},
        {"NCCL_P2P_PXN_LEVEL",
         NcclUse::kElsewhere,
         "PXN is --peer-nic=pxn here, and own is without it"},
        {"NCCL_PAT_ENABLE",
         NcclUse::kSwitch,
         "0: pat is not chosen, as before NCCL 2.23",
         {},
         {"pat"}},
        {"NCCL_PROTO",
         NcclUse::kProtocol,
         "protocols that are chosen among, by operation: LL, LL128, Simple"},
        {"NCCL_PXN_C2C", NcclUse::kElsewhere, "PXN is --peer-nic=pxn here, and own is without it"},
        {"NCCL_PXN_DISABLE",
         NcclUse::kElsewhere,
         "PXN is --peer-nic=pxn here, and own is without it"},
        {"NCCL_SINGLE_RING_THRESHOLD",
         NcclUse::kElsewhere,
         "NCCL has it no more since 2.5; sizes are chosen by --algorithm=NAME@FROM-TO here"},
        {"NCCL_TOPO_FILE", NcclUse::kElsewhere, "the machine is --server here"},
        {"NCCL_TREE_THRESHOLD",
         NcclUse::kElsewhere,
         "NCCL has it no more since 2.5; sizes are chosen by --algorithm=NAME@FROM-TO here"},
        {"NCCL_TUNER_PLUGIN", NcclUse::kElsewhere, "choices are --algorithm and --protocol here"},
    };
}

/// Those that concern nothing that is simulated: of the user guide's index, of NCCL's library
/// besides (NCCL_PARAM in its sources), and NCCL_VERSION, which CUDA's container images set.
constexpr const char* kOthers[] = {"NCCL_ALLOC_P2P_NET_LL_BUFFERS",
                                   "NCCL_CGA_CLUSTER_SIZE",
                                   "NCCL_CHECKS_DISABLE",
                                   "NCCL_CHECK_MODE",
                                   "NCCL_CHECK_POINTERS",
                                   "NCCL_COMM_BLOCKING",
                                   "NCCL_CONF_FILE",
                                   "NCCL_CUMEM_ENABLE",
                                   "NCCL_CUMEM_HOST_ENABLE",
                                   "NCCL_DEBUG",
                                   "NCCL_DEBUG_FILE",
                                   "NCCL_DEBUG_LEVELS",
                                   "NCCL_DEBUG_SUBSYS",
                                   "NCCL_DEBUG_TIMESTAMP_FORMAT",
                                   "NCCL_DEBUG_TIMESTAMP_LEVELS",
                                   "NCCL_DMABUF_ENABLE",
                                   "NCCL_ENV_PLUGIN",
                                   "NCCL_GDRCOPY_ENABLE",
                                   "NCCL_GDRCOPY_FIFO_ENABLE",
                                   "NCCL_GDRCOPY_FLUSH_ENABLE",
                                   "NCCL_GDRCOPY_SYNC_ENABLE",
                                   "NCCL_GIN_PLUGIN",
                                   "NCCL_GRAPH_MIXING_SUPPORT",
                                   "NCCL_GRAPH_REGISTER",
                                   "NCCL_GRAPH_STREAM_ORDERING",
                                   "NCCL_HOSTID",
                                   "NCCL_IBVERBS_LIB",
                                   "NCCL_IB_ADDR_FAMILY",
                                   "NCCL_IB_ADDR_RANGE",
                                   "NCCL_IB_CUDA_SUPPORT",
                                   "NCCL_IB_DATA_DIRECT",
                                   "NCCL_IB_ECE_ENABLE",
                                   "NCCL_IB_EVENT_BASED_LB",
                                   "NCCL_IB_GID_INDEX",
                                   "NCCL_IB_MERGE_NICS",
                                   "NCCL_IB_MERGE_VFS",
                                   "NCCL_IB_OOO_RQ",
                                   "NCCL_IB_PCI_RELAXED_ORDERING",
                                   "NCCL_IB_PKEY",
                                   "NCCL_IB_PKEY_VALUE",
                                   "NCCL_IB_RAIL_POLICY",
                                   "NCCL_IB_RETURN_ASYNC_EVENTS",
                                   "NCCL_IB_ROCE_VERSION_NUM",
                                   "NCCL_IB_USE_INLINE",
                                   "NCCL_IGNORE_COLLNET_MISMATCH",
                                   "NCCL_IGNORE_CPU_AFFINITY",
                                   "NCCL_IGNORE_DISABLED_P2P",
                                   "NCCL_IGNORE_NET_MISMATCH",
                                   "NCCL_IPC_USE_ABSTRACT_SOCKET",
                                   "NCCL_LAUNCH_MODE",
                                   "NCCL_LAUNCH_ORDER_IMPLICIT",
                                   "NCCL_LAUNCH_RACE_FATAL",
                                   "NCCL_LEGACY_CUDA_REGISTER",
                                   "NCCL_LL128_C2C",
                                   "NCCL_LOCAL_REGISTER",
                                   "NCCL_MEM_SYNC_DOMAIN",
                                   "NCCL_MNNVL_CLIQUE_ID",
                                   "NCCL_MNNVL_UUID",
                                   "NCCL_MULTI_RANK_GPU_ENABLE",
                                   "NCCL_NET_DISABLE_INTRA",
                                   "NCCL_NET_FORCE_FLUSH",
                                   "NCCL_NET_GDR_C2C",
                                   "NCCL_NET_MERGE_LEVEL",
                                   "NCCL_NET_MERGE_POLICY",
                                   "NCCL_NET_OPTIONAL_RECV_COMPLETION",
                                   "NCCL_NET_PLUGIN",
                                   "NCCL_NET_SHARED_BUFFERS",
                                   "NCCL_NET_SHARED_COMMS",
                                   "NCCL_NSOCKS_PERTHREAD",
                                   "NCCL_NVB_DISABLE",
                                   "NCCL_NVTX_DISABLE",
                                   "NCCL_OOB_NET_ENABLE",
                                   "NCCL_OOB_NET_IFNAME",
                                   "NCCL_P2P_DIRECT_DISABLE",
                                   "NCCL_P2P_READ_ENABLE",
                                   "NCCL_P2P_USE_CUDA_MEMCPY",
                                   "NCCL_PROFILER_PLUGIN",
                                   "NCCL_PROGRESS_APPENDOP_FREQ",
                                   "NCCL_PROXY_APPEND_BATCH_SIZE",
                                   "NCCL_PROXY_CPUSET",
                                   "NCCL_RAS_ADDR",
                                   "NCCL_RAS_ENABLE",
                                   "NCCL_RAS_TIMEOUT_FACTOR",
                                   "NCCL_REPORT_CONNECT_PROGRESS",
                                   "NCCL_RMA_EAGER_INIT",
                                   "NCCL_RMA_PLUGIN",
                                   "NCCL_RUNTIME_CONNECT",
                                   "NCCL_SET_STACK_SIZE",
                                   "NCCL_SET_THREAD_NAME",
                                   "NCCL_SHM_DISABLE",
                                   "NCCL_SHM_LOCALITY",
                                   "NCCL_SOCKET_FAMILY",
                                   "NCCL_SOCKET_IFNAME",
                                   "NCCL_SOCKET_INLINE",
                                   "NCCL_SOCKET_MAGIC",
                                   "NCCL_SOCKET_MIN_TASKSIZE",
                                   "NCCL_SOCKET_NTHREADS",
                                   "NCCL_SOCKET_POLL_TIMEOUT_MSEC",
                                   "NCCL_SOCKET_RCVBUF",
                                   "NCCL_SOCKET_RETRY_CNT",
                                   "NCCL_SOCKET_RETRY_SLEEP_MSEC",
                                   "NCCL_SOCKET_SNDBUF",
                                   "NCCL_SYM_GIN_KERNELS_ENABLE",
                                   "NCCL_THREAD_THRESHOLDS",
                                   "NCCL_TOPO_DUMP_FILE",
                                   "NCCL_TOPO_DUMP_FILE_RANK",
                                   "NCCL_UID_STAGGER_RATE",
                                   "NCCL_UID_STAGGER_THRESHOLD",
                                   "NCCL_VERSION",
                                   "NCCL_WARN_ENABLE_DEBUG_INFO",
                                   "NCCL_WIN_ENABLE",
                                   "NCCL_WORK_ARGS_BYTES",
                                   "NCCL_WORK_FIFO_BYTES"};

} // namespace

const std::vector<NcclVariable>&
AllNcclVariables()
{
    static const std::vector<NcclVariable> all = [] {
        std::vector<NcclVariable> variables = Rows();
        for (const char* name : kOthers)
        {
            variables.push_back({name, NcclUse::kNothing, ""});
        }
        std::sort(variables.begin(),
                  variables.end(),
                  [](const NcclVariable& a, const NcclVariable& b) { return a.name < b.name; });
        return variables;
    }();
    return all;
}

const NcclVariable*
FindNcclVariable(const std::string& name)
{
    const auto& all = AllNcclVariables();
    const auto it = std::find_if(all.begin(), all.end(), [&](const NcclVariable& variable) {
        return variable.name == name;
    });
    return it == all.end() ? nullptr : &*it;
}

std::string
Describe(const NcclVariable& variable)
{
    switch (variable.use)
    {
    case NcclUse::kNothing:
        return "without meaning here";
    case NcclUse::kElsewhere:
        return "no effect: " + variable.help;
    case NcclUse::kOnly: {
        std::string allowed;
        for (const std::string& value : variable.allowed)
        {
            allowed += (allowed.empty() ? "" : ", ") + value;
        }
        return variable.help + "; allowed: " + allowed;
    }
    default:
        return variable.help;
    }
}

} // namespace scenario
