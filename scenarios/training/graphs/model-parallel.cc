/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Transfers within layers, and between the stages of a pipeline.
 *
 * Between stages every rank of a tensor group would send the same activations: each sends its
 * share, and the receiving group gathers them over its faster links (Narayanan et al., SC'21,
 * section 4.1: scatter/gather). With sequence parallelism they are shared out anyway.
 *
 * DeepSpeed's pipelines (deepSpeedSends) do the same, and more:
 *   - Between a backward and the forward behind it a stage first receives what the stage before it
 *     has made, and then sends it its gradients: both are messages of one pair of ranks, which go
 *     one after another (TrainSchedule::steps and send of microsoft/DeepSpeed@077e674
 *     deepspeed/runtime/pipe/schedule.py and p2p.py).
 *   - A stage keeps its share of its output only, and gathers it again ahead of its backward pass,
 *     then the gradients (_exec_backward_pass of microsoft/DeepSpeed@195563a
 *     deepspeed/runtime/pipe/engine.py).
 *   - What is gathered is put together by PartitionedTensor::full (ShadenSmith/DeepSpeed@838f101
 *     deepspeed/runtime/utils.py; without lists @029615a): zeros are written, PyTorch copies the
 *     shares out of NCCL's flat buffer by a kernel each (as with lists of tensors:
 *     communication.h), and all of it is cloned: 5 bytes of memory traffic for each that is
 *     gathered.
 * Left out: the few bytes that say how a tensor is shared out, sent beside each, and the host,
 * which waits for them.
 */
#include "collectives/core/registry.h"
#include "scenarios/training/graphs/communication.h"
#include "scenarios/training/graphs/shared-transfers.h"

#include <algorithm>
#include <map>

namespace training
{

namespace
{

uint8_t
StreamOf(GroupOf group)
{
    switch (group)
    {
    case GroupOf::kContext:
        return kContextStream;
    case GroupOf::kExpert:
    case GroupOf::kExpertBetween:
        return kExpertStream;
    case GroupOf::kExpertInside:
        return kForwardingStream;
    default:
        return kTensorStream;
    }
}

Transfer
TransferOf(const Exchange& exchange, Phase phase, std::string name)
{
    Transfer t;
    t.task.kind = TaskKind::kCollective;
    t.task.phase = phase;
    t.task.stream = StreamOf(exchange.group);
    t.task.group = static_cast<uint32_t>(exchange.group);
    t.task.op = exchange.op;
    t.task.bytes = exchange.bytes;
    t.task.blocks = exchange.blocks;
    std::string op = coll::OpName(exchange.op);
    std::replace(op.begin(), op.end(), '_', '-');
    t.task.name = op + " " + name;
    t.inLine = true;
    return t;
}

/// The messages from stage to stage.
class Messages
{
  public:
    Messages(const TrainingOptions& options, const RankWork& work, uint32_t stage)
        : m_options(options),
          m_work(work),
          m_stage(stage),
          m_schedule(*FindPipelineSchedule(options.schedule)),
          m_shape(PipelineOf(options))
    {
        const uint32_t sequence = options.Sequence() / options.context;
        const auto stages = LayersByStage(options);
        for (uint32_t piece = 0; piece < options.Pieces(); ++piece)
        {
            const auto& layers = stages[StageOf(piece)][piece / options.pipeline];
            const Work& output = options.model.layers[layers.back()].output;
            m_output.push_back(output.At(options.microBatch, sequence));
        }
    }

    /// Adds the receives of an action; their indices in `transfers` by the first computation.
    void Receive(std::vector<Transfer>& transfers, std::map<Position, uint32_t>& received) const
    {
        for (const DoneAction& done : m_work.actions)
        {
            const uint32_t piece = PieceOf(done);
            if (IsForward(done) ? piece == 0 : IsWeights(done) || piece + 1 == m_options.Pieces())
            {
                continue;
            }
            const uint32_t from = IsForward(done) ? piece - 1 : piece + 1;
            if (StageOf(from) == m_stage)
            {
                continue;
            }
            Transfer t = Message(TaskKind::kRecv, done, IsForward(done) ? piece - 1 : piece);
            t.task.stream = IsForward(done) ? kReceiveForwardStream : kReceiveBackwardStream;
            t.task.peerOffset = OffsetTo(done, from);
            t.task.tag = TagOf(IsForward(done), piece);
            t.task.name = "receive " + NameOf(done);
            t.users = {done.span.first};
            t.ahead = done.begin;
            received[done.span.first] = static_cast<uint32_t>(transfers.size());
            transfers.push_back(std::move(t));
        }
    }

    /// Adds the sends of an action's results.
    /// \param received result of Receive(); the sends ahead of an action are dependencies, too
    /// \param last exchanges that end after each computation
    void Send(std::vector<Transfer>& transfers,
              std::map<Position, uint32_t>& received,
              const std::map<Position, std::vector<uint32_t>>& last) const
    {
        for (std::size_t i = 0; i < m_work.actions.size(); ++i)
        {
            const DoneAction& done = m_work.actions[i];
            const uint32_t piece = PieceOf(done);
            if (IsForward(done) ? piece + 1 == m_options.Pieces() : IsWeights(done) || piece == 0)
            {
                continue;
            }
            const uint32_t to = IsForward(done) ? piece + 1 : piece - 1;
            if (StageOf(to) == m_stage)
            {
                continue;
            }
            Transfer t = Message(TaskKind::kSend, done, IsForward(done) ? piece : piece - 1);
            t.task.stream = IsForward(done) ? kSendForwardStream : kSendBackwardStream;
            t.task.peerOffset = OffsetTo(done, to);
            t.task.tag = TagOf(IsForward(done), to);
            t.task.name = "send " + NameOf(done);
            t.made = t.begin = done.span.last;
            if (m_options.awaitedSends && done.span.last + 1 < m_work.order.size())
            {
                t.users = {done.span.last + 1};
            }
            const auto behind = last.find(done.span.last);
            if (behind != last.end())
            {
                t.behind = behind->second;
            }
            if (m_options.deepSpeedSends && !IsForward(done) && i + 1 < m_work.actions.size())
            {
                BehindNext(m_work.actions[i + 1],
                           static_cast<uint32_t>(transfers.size()),
                           received,
                           t);
            }
            transfers.push_back(std::move(t));
        }
    }

    /// Shares are put together: those that come, and with DeepSpeed the action's output.
    void Gather(std::vector<Transfer>& transfers, std::map<Position, uint32_t>& received) const
    {
        for (const DoneAction& done : m_work.actions)
        {
            const auto found = received.find(done.span.first);
            const uint64_t bytes = found == received.end() ? 0 : GatheredBytes(done);
            if (bytes == 0)
            {
                continue;
            }
            const std::string name = NameOf(done);
            if (m_options.deepSpeedSends && !IsForward(done))
            {
                const std::string of = OfMicroBatch(m_options, done.action.microBatch);
                Gather(done, bytes, "output" + of, transfers, found);
            }
            Gather(done, bytes, name, transfers, found);
        }
    }

    /// Bytes of the activations that come, if their shares are to be put together; else 0.
    uint64_t GatheredBytes(const DoneAction& done) const
    {
        const uint32_t piece = PieceOf(done);
        return m_options.tensor > 1 && !m_options.sequenceParallel
                   ? BytesOf(IsForward(done) ? piece - 1 : piece)
                   : 0;
    }

    /// The content of a message: "activations chunk 1 micro-batch 2".
    std::string NameOf(const DoneAction& done) const
    {
        const std::string chunk =
            m_options.virtualStages > 1 ? " chunk " + std::to_string(done.action.chunk) : "";
        return (IsForward(done) ? "activations" : "gradients") + chunk +
               OfMicroBatch(m_options, done.action.microBatch);
    }

  private:
    /// DeepSpeed: a message to the stage before goes when the one that comes from it is there, and
    /// the next action begins behind both. \param index of the message
    void BehindNext(const DoneAction& next,
                    uint32_t index,
                    std::map<Position, uint32_t>& received,
                    Transfer& t) const
    {
        const auto found = received.find(next.span.first);
        if (IsForward(next) && found != received.end())
        {
            t.made = kStart; // goes ahead of the next action, as its dependency does
            t.ahead = next.begin;
            t.behind.push_back(found->second);
            found->second = index;
        }
    }

    /// \param found its dependency; on return, the last transfer that is added here
    void Gather(const DoneAction& done,
                uint64_t bytes,
                const std::string& name,
                std::vector<Transfer>& transfers,
                std::map<Position, uint32_t>::iterator found) const
    {
        const Phase phase = m_work.order[done.span.first].phase;
        const auto add = [&](Transfer t) {
            t.users = {done.span.first};
            t.ahead = done.begin;
            t.behind = {found->second};
            found->second = static_cast<uint32_t>(transfers.size());
            transfers.push_back(std::move(t));
        };
        add(TransferOf({coll::Op::kAllGather, GroupOf::kTensor, bytes}, phase, name));
        if (m_options.deepSpeedSends)
        {
            Transfer t;
            t.task = MemoryTask(m_options,
                                phase,
                                5 * static_cast<double>(bytes),
                                "copy " + name,
                                m_options.tensor + 2);
            t.inLine = true;
            add(std::move(t));
        }
    }

    static bool IsForward(const DoneAction& done)
    {
        return done.action.kind == PipelineAction::Kind::kForward;
    }

    static bool IsWeights(const DoneAction& done)
    {
        return done.action.kind == PipelineAction::Kind::kBackwardWeights;
    }

    uint32_t PieceOf(const DoneAction& done) const
    {
        return m_schedule.PieceOf(m_shape, m_stage, done.action.chunk);
    }

    uint32_t StageOf(uint32_t piece) const
    {
        return m_schedule.StageOf(m_shape, piece);
    }

    /// Within the pipeline's group or, where stages are replicated, among all ranks: then the
    /// micro-batch says to which replica.
    int32_t OffsetTo(const DoneAction& done, uint32_t piece) const
    {
        const uint32_t stage = StageOf(piece);
        if (m_options.replicas.empty())
        {
            return static_cast<int32_t>(stage) - static_cast<int32_t>(m_stage);
        }
        const Layout layout = m_options.GetLayout();
        Place peer;
        peer.pipeline = stage;
        peer.data = done.action.microBatch % m_options.replicas[stage];
        Place own;
        own.pipeline = m_stage;
        own.data = m_work.replica;
        return static_cast<int32_t>(RankAt(layout, peer)) -
               static_cast<int32_t>(RankAt(layout, own));
    }

    /// Messages into one chunk come in the order of micro-batches, whatever order chunks have.
    uint16_t TagOf(bool forward, uint32_t intoPiece) const
    {
        return static_cast<uint16_t>(2 * (intoPiece / m_options.pipeline) + (forward ? 0 : 1));
    }

    /// Bytes of the output of a piece, or of its gradient.
    uint64_t BytesOf(uint32_t piece) const
    {
        // Absurd sizes can exceed 64 bits.
        return static_cast<uint64_t>(std::min(m_output[piece], 1e18)) * DtypeBytes(m_options.dtype);
    }

    Transfer Message(TaskKind kind, const DoneAction& done, uint32_t piece) const
    {
        Transfer t;
        t.task.kind = kind;
        t.task.phase = IsForward(done) ? Phase::kForward : Phase::kBackward;
        t.task.group = static_cast<uint32_t>(m_options.replicas.empty() ? GroupOf::kPipeline
                                                                        : GroupOf::kReplica);
        // Shares of what does not divide are rounded up.
        t.task.bytes = (BytesOf(piece) + m_options.tensor - 1) / m_options.tensor;
        t.inLine = true;
        return t;
    }

    const TrainingOptions& m_options;
    const RankWork& m_work;
    uint32_t m_stage;
    const PipelineSchedule& m_schedule;
    PipelineShape m_shape;
    std::vector<double> m_output; ///< elements, by piece
};

} // namespace

std::vector<Transfer>
ModelParallelTransfers(const TrainingOptions& o, const RankWork& work, uint32_t stage)
{
    std::vector<Transfer> transfers;
    std::map<Position, uint32_t> received;
    std::optional<Messages> messages;
    if (o.pipeline > 1)
    {
        messages.emplace(o, work, stage);
        messages->Receive(transfers, received);
        if (!o.deepSpeedSends)
        {
            messages->Gather(transfers, received);
        }
    }
    std::map<Position, std::vector<uint32_t>> last;

    struct Ahead
    {
        std::vector<uint32_t> before; ///< what stands ahead of the last ones
        std::vector<uint32_t> last;   ///< the last one so far, and what goes beside it
    };

    std::map<uint32_t, Ahead> ahead; // by InLine::sequence
    for (const InLine& line : work.exchanges)
    {
        const auto index = static_cast<uint32_t>(transfers.size());
        Transfer t = TransferOf(line.exchange, line.phase, line.name);
        t.begin = line.made;
        t.users = {line.user};
        const auto found = received.find(line.user);
        if (line.entry && found != received.end())
        {
            t.behind = {found->second}; // goes ahead of its user, as its dependency does
            t.ahead = line.ahead;
        }
        else
        {
            t.made = line.made;
            last[line.written].push_back(index);
        }
        if (line.sequence != 0)
        {
            Ahead& of = ahead[line.sequence];
            if (!line.exchange.beside)
            {
                of.before = std::move(of.last);
                of.last.clear();
            }
            for (const uint32_t other : of.before)
            {
                // Those of one stream follow each other anyway.
                if (transfers[other].task.stream != t.task.stream)
                {
                    t.behind.push_back(other);
                }
            }
            of.last.push_back(index);
        }
        transfers.push_back(std::move(t));
    }
    if (messages)
    {
        messages->Send(transfers, received, last);
        if (o.deepSpeedSends)
        {
            messages->Gather(transfers, received); // behind the messages that go out
        }
    }
    return transfers;
}

} // namespace training
