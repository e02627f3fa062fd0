/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL as torch.distributed sees it. Collectives are recorded, and give values where values are
 * real: integers and bytes go from rank to rank through the store, so that what ranks agree upon
 * (shapes, pickled objects, counters) is agreed upon. So do small floating-point numbers (a flag, a
 * sum of losses' counts) where all know theirs, but for those of messages and of all-to-all.
 */
#ifndef CAPTURE_PROCESS_GROUP_H
#define CAPTURE_PROCESS_GROUP_H

#include "pytorch.h"

#include <map>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace capture
{

using TensorLists = std::vector<std::vector<at::Tensor>>;
using Tensors = std::vector<at::Tensor>;

/// How ranks find each other's values. Set once, before groups are made.
struct Exchange
{
    bool all = false; ///< all ranks run: wait for their values. Else only one's own are known.
    /// Folder in which a file "rank-N" says that rank N ended, and "process-N" has its number.
    std::string ended;
    double patience = 30; ///< seconds that a rank waits for one that does not compute
};

void SetExchange(Exchange exchange);

class SimulatedNccl : public GroupBase
{
  public:
    using WorkPointer = c10::intrusive_ptr<c10d::Work>;

    struct Options : GroupBase::Options
    {
        explicit Options(bool highPriority)
            : GroupBase::Options("nccl"),
              is_high_priority_stream(highPriority)
        {
        }

        bool is_high_priority_stream; ///< PyTorch's name, as the following
        std::vector<uint64_t> global_ranks_in_group;
        std::string group_name;
    };

    SimulatedNccl(c10::intrusive_ptr<c10d::Store> store, int rank, int size);

    /// Number of the group in this process, in the order of making.
    int64_t Number() const
    {
        return m_number;
    }

    /// Ranks of the world that are in it, for messages.
    void SetRanks(std::vector<int64_t> ranks);

    const std::string getBackendName() const override
    {
        return "nccl";
    }

    void setSequenceNumberForGroup() override
    {
    }

    uint64_t getSequenceNumberForGroup() override
    {
        return m_sequence;
    }

    void startCoalescing() override;
#if CAPTURE_PYTORCH_2
    WorkPointer endCoalescing() override;
#else
    void endCoalescing(std::vector<WorkPointer>& works) override;
#endif

    WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    WorkPointer allreduce_coalesced(Tensors& tensors,
                                    const c10d::AllreduceCoalescedOptions& options) override;
    WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    WorkPointer allgather(TensorLists& outputs,
                          Tensors& inputs,
                          const c10d::AllgatherOptions& options) override;
    WorkPointer _allgather_base(at::Tensor& output,
                                at::Tensor& input,
                                const c10d::AllgatherOptions& options) override;
    WorkPointer gather(TensorLists& outputs,
                       Tensors& inputs,
                       const c10d::GatherOptions& options) override;
    WorkPointer scatter(Tensors& outputs,
                        TensorLists& inputs,
                        const c10d::ScatterOptions& options) override;
    WorkPointer reduce_scatter(Tensors& outputs,
                               TensorLists& inputs,
                               const c10d::ReduceScatterOptions& options) override;
    WorkPointer _reduce_scatter_base(at::Tensor& output,
                                     at::Tensor& input,
                                     const c10d::ReduceScatterOptions& options) override;
    WorkPointer alltoall_base(at::Tensor& output,
                              at::Tensor& input,
                              std::vector<int64_t>& outputSplits,
                              std::vector<int64_t>& inputSplits,
                              const c10d::AllToAllOptions& options) override;
    WorkPointer alltoall(Tensors& outputs,
                         Tensors& inputs,
                         const c10d::AllToAllOptions& options) override;
#if CAPTURE_PYTORCH_2
    bool supportsSplitting() const override
    {
        return false; // each group is one of its own
    }

    WorkPointer allgather_into_tensor_coalesced(Tensors& outputs,
                                                Tensors& inputs,
                                                const c10d::AllgatherOptions& options) override;
    WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs,
                                                Tensors& inputs,
                                                const c10d::ReduceScatterOptions& options) override;
#endif
    WorkPointer send(Tensors& tensors, int peer, int tag) override;
    WorkPointer recv(Tensors& tensors, int peer, int tag) override;
    WorkPointer barrier(const c10d::BarrierOptions& options) override;

  private:
    struct Call;
    WorkPointer Recorded(const Call& call);
    /// NCCL has a stream for the group's collectives (-1), and one for messages with each peer.
    int64_t StreamFor(int peer);
    /// What the store has of a rank for the present collective.
    std::string Key(int rank) const;
    /// Stands before each value: what the rank does, the type and the bytes. Where a rank finds
    /// another one, the comparison of the ranks will name it; until then it goes on as if the
    /// others did as it does. (Other bytes, or none, in the place of its buckets would end DDP by a
    /// signal.)
    bool Exchanges() const;
    std::string Heading(const at::Tensor& tensor) const;
    /// Of what is not known, that it is not.
    void Give(const std::string& key, const at::Tensor& tensor);
    void GiveBytes(const std::string& key,
                   const at::Tensor& tensor,
                   const void* data,
                   size_t bytes);
    /// Whether they are of the same collective and as many as the tensor has.
    bool TakeBytes(const std::string& key, const at::Tensor& tensor, void* data);
    /// Until a rank has given it; throws if it never will.
    void WaitFor(const std::string& key, int from, const char* what);
    /// Whether the value came.
    bool Take(const std::string& key, int from, const at::Tensor& tensor, const char* what);
    void GatherValues(Tensors& outputs, const at::Tensor& input, const char* what);
    /// What small tensors of all ranks make, where all know theirs: true, and `all` is that.
    bool ReduceValues(uint64_t sequence,
                      const at::Tensor& tensor,
                      const c10d::ReduceOp& operation,
                      at::Tensor& all);
    /// What becomes of it in an all-reduce, and at the root of a reduce.
    void SumUp(uint64_t sequence, const at::Tensor& tensor, const c10d::ReduceOp& operation);
    /// Of a reduce-scatter.
    /// \param first element of `input` that is this rank's
    void ScatterValues(uint64_t sequence,
                       const at::Tensor& input,
                       const at::Tensor& output,
                       int64_t first,
                       const c10d::ReduceOp& operation);
    /// Of an all-to-all: pieces[i] is for rank i; parts[i] comes from it.
    void SwapValues(uint64_t sequence, const Tensors& pieces, const Tensors& parts);

    c10::intrusive_ptr<c10d::Store> m_store;
    int64_t m_number;
    uint64_t m_sequence = 0;
    const char* m_doing = ""; ///< the latest collective, or "message"
    bool m_mixed = false;     ///< ranks have done different things: a mistake, and they would hang
    std::vector<int64_t> m_ranks;
    std::map<std::pair<int, int>, int64_t> m_messages; ///< (from, to): so many
    std::map<int, int64_t> m_streams;
    int64_t m_batch = -1; ///< number of the grouped call that is open; -1: none
#if CAPTURE_PYTORCH_2
    std::vector<WorkPointer> m_works; ///< of that
#endif
};

} // namespace capture

#endif // CAPTURE_PROCESS_GROUP_H
