/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "process-group.h"

#include "device.h"
#include "exchanged-values.h"
#include "grouped-work.h"
#include "record.h"
#include "recorded-work.h"
#include "storage.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <utility>

namespace capture
{

namespace
{

std::atomic<int64_t> g_groups{0};
std::atomic<int64_t> g_collectives{0};
std::atomic<int64_t> g_batches{0};

std::string
ReductionName(const c10d::ReduceOp& operation)
{
    switch (static_cast<c10d::ReduceOp::RedOpType>(operation.op_))
    {
    case c10d::ReduceOp::SUM:
        return "sum";
    case c10d::ReduceOp::AVG:
        return "avg";
    case c10d::ReduceOp::PRODUCT:
        return "product";
    case c10d::ReduceOp::MIN:
        return "min";
    case c10d::ReduceOp::MAX:
        return "max";
    case c10d::ReduceOp::BAND:
        return "band";
    case c10d::ReduceOp::BOR:
        return "bor";
    case c10d::ReduceOp::BXOR:
        return "bxor";
    default:
        return "other";
    }
}

int64_t
Bytes(const Tensors& tensors)
{
    int64_t bytes = 0;
    for (const at::Tensor& tensor : tensors)
    {
        bytes += static_cast<int64_t>(tensor.nbytes());
    }
    return bytes;
}

bool
IsReal(const at::Tensor& tensor)
{
    return tensor.numel() > 0 && InfoOf(tensor).real && tensor.is_contiguous();
}

/// The words of PyTorch: NCCL sees memory, without strides. Into and out of the lists of gathers
/// and scatters it copies, so these may be strided; of the _base forms 1.13 does not look at it.
void
CheckDense(c10d::OpType type, const Tensors& inputs, const Tensors& outputs)
{
    using c10d::OpType;
    const bool unseen = type == OpType::_ALLGATHER_BASE || type == OpType::_REDUCE_SCATTER_BASE;
    const bool toList = type == OpType::ALLGATHER || type == OpType::GATHER;
    const bool ofList = type == OpType::REDUCE_SCATTER || type == OpType::SCATTER;
    const bool all = type == OpType::ALLTOALL || type == OpType::ALLTOALL_BASE;
    const auto check = [all](const Tensors& tensors) {
        for (const at::Tensor& tensor : tensors)
        {
            TORCH_CHECK(!all || tensor.is_contiguous(), "Tensors must be contiguous");
            TORCH_CHECK(tensor.is_non_overlapping_and_dense(),
                        "Tensors must be non-overlapping and dense");
        }
    };
    if (!unseen && !ofList)
    {
        check(inputs);
    }
    if (!unseen && !toList)
    {
        check(outputs);
    }
}

} // namespace

struct SimulatedNccl::Call
{
    const char* name;
    c10d::OpType type;
    Tensors inputs;
    Tensors outputs;
    int64_t bytes; ///< of the whole vector, as docs/capture-format.md has them
    int root = -1;
    std::string reduction = {};
    int peer = -1;
    std::vector<int64_t> sends = {};    ///< bytes to each rank, of an uneven all-to-all
    std::vector<int64_t> receives = {}; ///< from each rank, of the same
};

SimulatedNccl::SimulatedNccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size)
    : GroupBase(rank, size),
      m_store(std::move(store)),
      m_number(g_groups++)
{
}

void
SimulatedNccl::SetRanks(std::vector<int64_t> ranks)
{
    m_ranks = std::move(ranks);
}

void
SimulatedNccl::startCoalescing()
{
    m_batch = g_batches++;
}

#if CAPTURE_PYTORCH_2
SimulatedNccl::WorkPointer
SimulatedNccl::endCoalescing()
{
    m_batch = -1;
    return c10::make_intrusive<GroupedWork>(std::exchange(m_works, {}), rank_);
}
#else
void
SimulatedNccl::endCoalescing(std::vector<WorkPointer>&)
{
    m_batch = -1;
}
#endif

SimulatedNccl::WorkPointer
SimulatedNccl::Recorded(const Call& call)
{
    for (const Tensors* tensors : {&call.inputs, &call.outputs})
    {
        for (const at::Tensor& tensor : *tensors)
        {
            TORCH_CHECK(tensor.is_cuda() && !tensor.is_sparse(), "Tensors must be CUDA and dense");
        }
    }
    CheckDense(call.type, call.inputs, call.outputs);
    const OwnWork own;
    // As NCCL's group of PyTorch: what counts is where the tensors are, whatever set_device said.
    const Tensors& first = call.inputs.empty() ? call.outputs : call.inputs;
    const OnDevice there(first.empty() ? CurrentDevice() : first[0].get_device());
    const int64_t number = g_collectives++;
    const int64_t stream = StreamFor(call.peer);
    Line line("coll");
    line.Add("c", number).Add("n", std::string(call.name)).Add("g", m_number).AddPlace();
    line.Add("on", stream);
    line.Add("i", call.inputs).Add("o", call.outputs).Add("bytes", call.bytes);
    if (call.root >= 0)
    {
        line.Add("root", call.root);
    }
    if (!call.reduction.empty())
    {
        line.Add("reduce", call.reduction);
    }
    if (call.peer >= 0)
    {
        line.Add("peer", call.peer);
    }
    if (!call.sends.empty())
    {
        line.Add("sends", call.sends).Add("receives", call.receives);
    }
    if (m_batch >= 0)
    {
        line.Add("batch", m_batch);
    }
    line.Write();
    // Both are NCCL's stream's as well (ProcessGroupNCCL.cpp of 1.13, collective, pointToPoint).
    const int device = CurrentDevice();
    for (const Tensors* tensors : {&call.inputs, &call.outputs})
    {
        for (const at::Tensor& tensor : *tensors)
        {
            RecordStream(tensor.storage().data_ptr(), StreamOf(device, stream));
        }
    }
    {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().Follow(StreamKey(device, stream), StreamKey(device, CurrentStream()));
        Streams().Give(StreamKey(device, stream));
    }
    ++m_sequence;
    m_doing = call.peer < 0 ? call.name : "message";
    WorkPointer work =
        c10::make_intrusive<RecordedWork>(call.outputs.empty() ? call.inputs : call.outputs,
                                          number,
                                          stream,
                                          rank_,
                                          call.type);
#if CAPTURE_PYTORCH_2
    if (m_batch >= 0)
    {
        m_works.push_back(work);
    }
#endif
    return work;
}

int64_t
SimulatedNccl::StreamFor(int peer)
{
    const auto [found, isNew] = m_streams.emplace(peer, 0);
    if (isNew)
    {
        found->second = NewStream(CurrentDevice()).id();
    }
    return found->second;
}

namespace
{

/// The words of PyTorch.
void
CheckSplits(const at::Tensor& tensor, const std::vector<int64_t>& splits, int ranks)
{
    if (splits.empty())
    {
        TORCH_CHECK(tensor.size(0) % ranks == 0,
                    "Tensor's dim 0 does not divide equally across group size");
        return;
    }
    TORCH_CHECK(splits.size() == static_cast<size_t>(ranks),
                "Number of tensor splits not equal to group size");
    TORCH_CHECK(std::accumulate(splits.begin(), splits.end(), int64_t{0}) == tensor.size(0),
                "Split sizes doesn't match total dim 0 size");
}

/// Bytes of the parts of the first dimension.
std::vector<int64_t>
BytesOf(const at::Tensor& tensor, std::vector<int64_t> rows, int count)
{
    if (rows.empty())
    {
        rows.assign(static_cast<size_t>(count), tensor.size(0) / count);
    }
    const int64_t row =
        tensor.size(0) == 0 ? 0 : static_cast<int64_t>(tensor.nbytes()) / tensor.size(0);
    for (int64_t& one : rows)
    {
        one *= row;
    }
    return rows;
}

/// What came over the network is known, as far as what was sent is.
void
KeepAssumed(const at::Tensor& from, const at::Tensor& to)
{
    InfoOf(to).valid = true;
    InfoOf(to).assumed = InfoOf(from).assumed;
}

bool
AllExchanged(const Tensors& tensors)
{
    return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
        return tensor.numel() == 0 || Exchanged(tensor);
    });
}

/// Parts of the first dimension, of so many rows each; `rows` empty: equal parts.
Tensors
PartsOf(const at::Tensor& tensor, std::vector<int64_t> rows, int count)
{
    if (rows.empty())
    {
        rows.assign(static_cast<size_t>(count), tensor.size(0) / count);
    }
    Tensors parts;
    int64_t begin = 0;
    for (const int64_t length : rows)
    {
        parts.push_back(OnHost(tensor.detach()).narrow(0, begin, length));
        begin += length;
    }
    return parts;
}

} // namespace

// ---- collectives: recorded first, so that a rank that waits in vain has said for what

SimulatedNccl::WorkPointer
SimulatedNccl::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options)
{
    const std::string key = Key(static_cast<int>(options.rootRank));
    WorkPointer work = Recorded({"broadcast",
                                 c10d::OpType::BROADCAST,
                                 tensors,
                                 tensors,
                                 Bytes(tensors),
                                 static_cast<int>(options.rootRank)});
    const at::Tensor& tensor = tensors[0];
    if (Goes(tensor) && options.rootRank == rank_)
    {
        Give(key, tensor);
    }
    else if (options.rootRank != rank_ && Exchanges() &&
             !(Goes(tensor) &&
               Take(key, static_cast<int>(options.rootRank), tensor, "broadcast")) &&
             Exchanges())
    {
        Invalidate(tensor);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options)
{
    const uint64_t sequence = m_sequence;
    WorkPointer work = Recorded({"all_reduce",
                                 c10d::OpType::ALLREDUCE,
                                 tensors,
                                 tensors,
                                 Bytes(tensors),
                                 -1,
                                 ReductionName(options.reduceOp)});
    SumUp(sequence, tensors[0], options.reduceOp);
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options)
{
    return Recorded({"all_reduce",
                     c10d::OpType::ALLREDUCE_COALESCED,
                     tensors,
                     tensors,
                     Bytes(tensors),
                     -1,
                     ReductionName(options.reduceOp)});
}

SimulatedNccl::WorkPointer
SimulatedNccl::reduce(Tensors& tensors, const c10d::ReduceOptions& options)
{
    const std::string key = Key(rank_);
    const uint64_t sequence = m_sequence;
    WorkPointer work = Recorded({"reduce",
                                 c10d::OpType::REDUCE,
                                 tensors,
                                 tensors,
                                 Bytes(tensors),
                                 static_cast<int>(options.rootRank),
                                 ReductionName(options.reduceOp)});
    const at::Tensor& tensor = tensors[0];
    if (options.rootRank == rank_)
    {
        SumUp(sequence, tensor, options.reduceOp);
    }
    else if (Goes(tensor))
    {
        Give(key, tensor); // and keeps its own
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions&)
{
    TORCH_CHECK(outputs.size() == 1 && inputs.size() == 1, "one GPU a process");
    TORCH_CHECK(outputs[0].size() == static_cast<size_t>(size_),
                "Tensor list output to scatter must match the number of ranks");
    const uint64_t before = m_sequence;
    WorkPointer work =
        Recorded({"all_gather", c10d::OpType::ALLGATHER, inputs, outputs[0], Bytes(outputs[0])});
    const uint64_t after = m_sequence;
    m_sequence = before;
    try
    {
        GatherValues(outputs[0], inputs[0], "all_gather");
    }
    catch (...)
    {
        m_sequence = after;
        throw;
    }
    m_sequence = after;
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&)
{
    TORCH_CHECK(output.scalar_type() == input.scalar_type(),
                "output tensor must have the same type as input tensor");
    TORCH_CHECK(output.numel() == input.numel() * size_,
                "output tensor size must be equal to world_size times input tensor size");
    const uint64_t sequence = m_sequence;
    WorkPointer work =
        Recorded({"all_gather", c10d::OpType::_ALLGATHER_BASE, {input}, {output}, Bytes({output})});
    const at::NoGradGuard guard;
    const PartOfAnother part;
    const std::string prefix = "value " + std::to_string(sequence) + " ";
    if (Goes(input))
    {
        Give(prefix + std::to_string(rank_), input);
    }
    bool known = HasValue(input) && IsReal(output) && (Goes(input) || !Exchanges());
    const at::Tensor other =
        known ? Empty({input.numel()}, input.scalar_type(), input.device()) : at::Tensor();
    for (int rank = 0; rank < size_ && known; ++rank)
    {
        // (Where the others do not run, they are taken to have the same.)
        const bool mine = rank == rank_ || !Exchanges();
        known = mine || Take(prefix + std::to_string(rank), rank, other, "all_gather");
        if (known)
        {
            OnHost(output.detach())
                .flatten()
                .narrow(0, rank * input.numel(), input.numel())
                .copy_(OnHost(mine ? input.detach() : other).flatten());
        }
    }
    if (known)
    {
        KeepAssumed(input, output);
    }
    else
    {
        Invalidate(output);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options)
{
    Tensors all = outputs.empty() ? Tensors{} : outputs[0];
    const std::string prefix = "value " + std::to_string(m_sequence) + " ";
    WorkPointer work = Recorded({"gather",
                                 c10d::OpType::GATHER,
                                 inputs,
                                 all,
                                 Bytes(inputs) * size_,
                                 static_cast<int>(options.rootRank)});
    if (options.rootRank != rank_)
    {
        if (Goes(inputs[0]))
        {
            Give(prefix + std::to_string(rank_), inputs[0]);
        }
        return work;
    }
    for (int rank = 0; rank < static_cast<int>(all.size()); ++rank)
    {
        const at::Tensor& output = all[rank];
        const bool alike = rank == rank_ || !Exchanges();
        if (alike && HasValue(inputs[0]) && output.sizes() == inputs[0].sizes())
        {
            const at::NoGradGuard guard;
            CopyValues(output.detach(), inputs[0].detach());
        }
        else if (alike || !Goes(output) ||
                 !Take(prefix + std::to_string(rank), rank, output, "gather"))
        {
            Invalidate(output);
        }
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options)
{
    Tensors all = inputs.empty() ? Tensors{} : inputs[0];
    const std::string prefix = "value " + std::to_string(m_sequence) + " ";
    WorkPointer work = Recorded({"scatter",
                                 c10d::OpType::SCATTER,
                                 all,
                                 outputs,
                                 Bytes(outputs) * size_,
                                 static_cast<int>(options.rootRank)});
    const at::Tensor& output = outputs[0];
    if (options.rootRank == rank_)
    {
        for (int rank = 0; rank < static_cast<int>(all.size()); ++rank)
        {
            if (rank != rank_ && Goes(all[rank]))
            {
                Give(prefix + std::to_string(rank), all[rank]);
            }
        }
        const at::NoGradGuard guard;
        CopyValues(output.detach(), all[rank_].detach());
    }
    else if (!Goes(output) || !Take(prefix + std::to_string(rank_),
                                    static_cast<int>(options.rootRank),
                                    output,
                                    "scatter"))
    {
        Invalidate(output);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::reduce_scatter(Tensors& outputs,
                              TensorLists& inputs,
                              const c10d::ReduceScatterOptions& options)
{
    TORCH_CHECK(inputs[0].size() == static_cast<size_t>(size_),
                "Tensor list input to reduce_scatter must match the number of ranks");
    TORCH_CHECK(inputs[0][rank_].numel() == outputs[0].numel(),
                "Tensor output of reduce_scatter must have the size of this rank's input");
    const uint64_t sequence = m_sequence;
    WorkPointer work = Recorded({"reduce_scatter",
                                 c10d::OpType::REDUCE_SCATTER,
                                 inputs[0],
                                 outputs,
                                 Bytes(inputs[0]),
                                 -1,
                                 ReductionName(options.reduceOp)});
    // Of lists of unlike tensors NCCL's group makes as many reduces; its bytes are the same.
    const PartOfAnother part;
    Tensors flat;
    int64_t first = 0;
    for (int rank = 0; rank < static_cast<int>(inputs[0].size()); ++rank)
    {
        flat.push_back(inputs[0][rank].flatten());
        first += rank < rank_ ? flat.back().numel() : 0;
    }
    ScatterValues(sequence, at::cat(flat), outputs[0], first, options.reduceOp);
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::_reduce_scatter_base(at::Tensor& output,
                                    at::Tensor& input,
                                    const c10d::ReduceScatterOptions& options)
{
    TORCH_CHECK(input.scalar_type() == output.scalar_type(),
                "input tensor must be the same type as the output tensor.");
    TORCH_CHECK(input.numel() == output.numel() * size_,
                "input tensor must be the same size as output size times world size");
    const uint64_t sequence = m_sequence;
    WorkPointer work = Recorded({"reduce_scatter",
                                 c10d::OpType::_REDUCE_SCATTER_BASE,
                                 {input},
                                 {output},
                                 Bytes({input}),
                                 -1,
                                 ReductionName(options.reduceOp)});
    ScatterValues(sequence, input, output, rank_ * output.numel(), options.reduceOp);
    return work;
}

#if CAPTURE_PYTORCH_2
SimulatedNccl::WorkPointer
SimulatedNccl::allgather_into_tensor_coalesced(Tensors& outputs,
                                               Tensors& inputs,
                                               const c10d::AllgatherOptions& options)
{
    startCoalescing();
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        _allgather_base(outputs[i], inputs[i], options);
    }
    return endCoalescing();
}

SimulatedNccl::WorkPointer
SimulatedNccl::reduce_scatter_tensor_coalesced(Tensors& outputs,
                                               Tensors& inputs,
                                               const c10d::ReduceScatterOptions& options)
{
    startCoalescing();
    for (size_t i = 0; i < inputs.size(); ++i)
    {
        _reduce_scatter_base(outputs[i], inputs[i], options);
    }
    return endCoalescing();
}
#endif

SimulatedNccl::WorkPointer
SimulatedNccl::alltoall_base(at::Tensor& output,
                             at::Tensor& input,
                             std::vector<int64_t>& outputSplits,
                             std::vector<int64_t>& inputSplits,
                             const c10d::AllToAllOptions&)
{
    CheckSplits(input, inputSplits, size_);
    CheckSplits(output, outputSplits, size_);
    const bool even = inputSplits.empty() && outputSplits.empty();
    const uint64_t sequence = m_sequence;
    WorkPointer work =
        Recorded({even ? "alltoall" : "alltoallv",
                  c10d::OpType::ALLTOALL_BASE,
                  {input},
                  {output},
                  Bytes({input}),
                  -1,
                  {},
                  -1,
                  even ? std::vector<int64_t>{} : BytesOf(input, inputSplits, size_),
                  even ? std::vector<int64_t>{} : BytesOf(output, outputSplits, size_)});
    if (AllExchanged({input, output}) && HasValue(input))
    {
        const at::NoGradGuard guard;
        SwapValues(sequence,
                   PartsOf(input, inputSplits, size_),
                   PartsOf(output, outputSplits, size_));
        KeepAssumed(input, output);
    }
    else
    {
        Invalidate(output);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions&)
{
    TORCH_CHECK(inputs.size() == static_cast<size_t>(size_) &&
                    outputs.size() == static_cast<size_t>(size_),
                "Tensor lists must match the number of ranks");
    std::vector<int64_t> sends;
    std::vector<int64_t> receives;
    bool even = true;
    for (int rank = 0; rank < size_; ++rank)
    {
        sends.push_back(static_cast<int64_t>(inputs[rank].nbytes()));
        receives.push_back(static_cast<int64_t>(outputs[rank].nbytes()));
        even = even && sends.back() == sends[0] && receives.back() == sends[0];
    }
    const uint64_t sequence = m_sequence;
    WorkPointer work = Recorded({even ? "alltoall" : "alltoallv",
                                 c10d::OpType::ALLTOALL,
                                 inputs,
                                 outputs,
                                 Bytes(inputs),
                                 -1,
                                 {},
                                 -1,
                                 even ? std::vector<int64_t>{} : sends,
                                 even ? std::vector<int64_t>{} : receives});
    if (AllExchanged(inputs) && AllExchanged(outputs) &&
        std::all_of(inputs.begin(), inputs.end(), &HasValue))
    {
        const at::NoGradGuard guard;
        Tensors pieces;
        Tensors parts;
        for (int rank = 0; rank < size_; ++rank)
        {
            pieces.push_back(OnHost(inputs[rank].detach()).flatten());
            parts.push_back(OnHost(outputs[rank].detach()).flatten());
            KeepAssumed(inputs[rank], outputs[rank]);
        }
        SwapValues(sequence, pieces, parts);
        return work;
    }
    for (const at::Tensor& output : outputs)
    {
        Invalidate(output);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::send(Tensors& tensors, int peer, int)
{
    const int64_t number = m_messages[{rank_, peer}]++;
    WorkPointer work =
        Recorded({"send", c10d::OpType::SEND, tensors, {}, Bytes(tensors), -1, {}, peer});
    --m_sequence; // messages are numbered by pair
    if (Exchanged(tensors[0]))
    {
        Give("message " + std::to_string(rank_) + " " + std::to_string(peer) + " " +
                 std::to_string(number),
             tensors[0]);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::recv(Tensors& tensors, int peer, int)
{
    const int64_t number = m_messages[{peer, rank_}]++;
    WorkPointer work =
        Recorded({"recv", c10d::OpType::RECV, {}, tensors, Bytes(tensors), -1, {}, peer});
    --m_sequence;
    if (!Exchanged(tensors[0]) || !Take("message " + std::to_string(peer) + " " +
                                            std::to_string(rank_) + " " + std::to_string(number),
                                        peer,
                                        tensors[0],
                                        "recv"))
    {
        Invalidate(tensors[0]);
    }
    return work;
}

SimulatedNccl::WorkPointer
SimulatedNccl::barrier(const c10d::BarrierOptions&)
{
    const Tensors tensors{Empty({1}, at::kByte)};
    const std::string prefix = "value " + std::to_string(m_sequence) + " ";
    WorkPointer work = Recorded({"barrier", c10d::OpType::BARRIER, tensors, tensors, 0});
    // Ranks really wait: one may have written a file that others read behind it.
    Give(prefix + std::to_string(rank_), tensors[0]);
    for (int rank = 0; rank < size_; ++rank)
    {
        if (rank != rank_)
        {
            Take(prefix + std::to_string(rank), rank, tensors[0], "barrier");
        }
    }
    return work;
}

} // namespace capture
