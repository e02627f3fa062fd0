/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/msccl/msccl-xml.h"

#include "collectives/core/checker.h"
#include "collectives/core/packed-pieces.h"
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/core/send-tally.h"
#include "collectives/msccl/msccl-program.h"
#include "contrib/rdma/core/regular-file.h"
#include "contrib/rdma/core/shown-text.h"
#include "topologies/files-read.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

namespace coll
{

namespace
{

class MscclSchedule final : public Schedule
{
  public:
    MscclSchedule(const Collective& what,
                  std::shared_ptr<const MscclLanes> lanes,
                  uint64_t chunks,
                  uint64_t largest)
        : Schedule(what),
          m_lanes(std::move(lanes)),
          m_chunk(what.bytes / chunks),
          m_largest(largest)
    {
        if (largest == 0)
        {
            return;
        }
        // Where steps begin, as some go in several messages.
        for (const auto& ofRank : m_lanes->steps)
        {
            m_begins.emplace_back();
            for (const auto& steps : ofRank)
            {
                m_begins.back().push_back({0});
                for (const ChunkStep& step : steps)
                {
                    m_begins.back().back().push_back(m_begins.back().back().back() +
                                                     Messages(step));
                }
            }
        }
    }

    Lane Lanes(Rank /* rank */) const override
    {
        return static_cast<Lane>(m_lanes->channels.size());
    }

    StepIndex Steps(Rank rank, Lane lane) const override
    {
        return m_begins.empty() ? static_cast<StepIndex>(m_lanes->steps[rank][lane].size())
                                : m_begins[rank][lane].back();
    }

    uint32_t Channel(Lane lane) const override
    {
        return m_lanes->channels[lane];
    }

    uint64_t ScratchBytes(Rank rank) const override
    {
        return m_lanes->scratch[rank] * m_chunk;
    }

    Step At(Rank rank, Lane lane, StepIndex k) const override
    {
        const auto& steps = m_lanes->steps[rank][lane];
        if (m_begins.empty())
        {
            return Make(steps[k], 1, 0);
        }
        const auto& begins = m_begins[rank][lane];
        const auto i = std::upper_bound(begins.begin(), begins.end(), k) - begins.begin() - 1;
        return Make(steps[i], Messages(steps[i]), k - begins[i]);
    }

    static uint64_t MessagesOf(const ChunkStep& step, uint64_t chunk, uint64_t largest)
    {
        return step.local ? 1 : MessagesFor(step.count * chunk, largest);
    }

  private:
    uint32_t Messages(const ChunkStep& step) const
    {
        return static_cast<uint32_t>(MessagesOf(step, m_chunk, m_largest));
    }

    Step Make(const ChunkStep& from, uint32_t messages, uint32_t i) const
    {
        const Range range = MessagePart(0, from.count * m_chunk, messages, i);
        Step step;
        step.local = from.local;
        step.reduce = from.reduce;
        step.recvPeer = from.recvPeer;
        step.sendPeer = from.sendPeer;
        if (from.local || from.recvPeer != kNoRank)
        {
            step.recvOffset = from.recvChunk * m_chunk + range.offset;
            step.recvBytes = range.bytes;
        }
        if (from.local || from.sendPeer != kNoRank)
        {
            step.sendOffset = from.sendChunk * m_chunk + range.offset;
            step.sendBytes = range.bytes;
            step.fromResult = !from.fromInput;
        }
        return step;
    }

    std::shared_ptr<const MscclLanes> m_lanes;
    uint64_t m_chunk; ///< bytes
    uint64_t m_largest;
    std::vector<std::vector<std::vector<StepIndex>>> m_begins; ///< none: one message each
};

class MscclAlgorithm final : public Algorithm
{
  public:
    MscclAlgorithm(std::string name,
                   const MscclProgram& program,
                   std::shared_ptr<const MscclLanes> lanes)
        : m_name(std::move(name)),
          m_op(program.op),
          m_root(program.root),
          m_ranks(static_cast<Rank>(program.gpus.size())),
          m_chunks(program.chunks),
          m_line(program.line),
          m_lanes(std::move(lanes))
    {
    }

    /// Proves the program with chunks of a byte: other sizes change only lengths. \return the
    /// problem, with the line of the step that it was found at, or else of the GPU
    std::string Prove(const MscclProgram& program)
    {
        Collective what;
        what.op = m_op;
        what.bytes = m_chunks;
        what.ranks = m_ranks;
        what.root = m_root;
        m_proof = Check(MscclSchedule(what, m_lanes, m_chunks, 0), {nullptr, false});
        if (m_proof.Ok())
        {
            return {};
        }
        const StepPlace& place = m_proof.place;
        const uint32_t line = place.step
                                  ? m_lanes->steps[place.member][place.lane][*place.step].line
                                  : program.gpus[place.member].line;
        return std::to_string(line) + ": does not do " + OpName(m_op) +
               ", in chunks: " + m_proof.problems[0];
    }

    /// WhyNoElements().
    std::string WhyNoElements(uint64_t bytes, uint32_t elementBytes) const
    {
        if (bytes % m_chunks != 0 || bytes / m_chunks % elementBytes == 0)
        {
            return {};
        }
        return m_name + ":" + std::to_string(m_line) + ": <algo nchunksperloop=\"" +
               std::to_string(m_chunks) + "\">: chunks of " + std::to_string(bytes / m_chunks) +
               " of " + std::to_string(bytes) + " bytes are no whole elements of " +
               std::to_string(elementBytes) + " bytes; allowed: sizes that are multiples of " +
               std::to_string(m_chunks * elementBytes) + " bytes";
    }

    std::string Name() const override
    {
        return m_name;
    }

    std::string Description() const override
    {
        return "from a file, for " + std::to_string(m_ranks) + " ranks";
    }

    bool Supports(Op op) const override
    {
        return op == m_op;
    }

    const AlgorithmFacts& Facts() const override
    {
        static const AlgorithmFacts facts{"as its steps", "a file", {Knob::kPipeline}};
        return facts;
    }

    std::string WhyNot(const Collective& what,
                       const Placement& placement,
                       const AlgorithmOptions& options) const override
    {
        if (what.op != m_op)
        {
            return "it does " + OpName(m_op) + ", not " + OpName(what.op);
        }
        std::string why = Problem(what, placement, options);
        if (!why.empty())
        {
            return why;
        }
        if (what.ranks != m_ranks)
        {
            return "it is for " + std::to_string(m_ranks) + " ranks, not " +
                   std::to_string(what.ranks);
        }
        if (what.bytes % m_chunks != 0)
        {
            return std::to_string(what.bytes) + " bytes are no whole number for each of its " +
                   std::to_string(m_chunks) + " chunks";
        }
        if (what.op == Op::kBroadcast && what.root != m_root)
        {
            return "its root is rank " + std::to_string(m_root) + ", not " +
                   std::to_string(what.root);
        }
        if (options.channels != 0)
        {
            return "its channels are those of the file";
        }
        const uint64_t chunk = what.bytes / m_chunks;
        uint64_t most = 0;
        for (const auto& ofRank : m_lanes->steps)
        {
            for (const auto& steps : ofRank)
            {
                uint64_t messages = 0;
                for (const ChunkStep& step : steps)
                {
                    messages += MscclSchedule::MessagesOf(step, chunk, options.pipelineBytes);
                }
                most = std::max(most, messages);
            }
        }
        return most <= kMostSteps ? ""
                                  : "messages of at most " + std::to_string(options.pipelineBytes) +
                                        " bytes make more than 2^24 steps of a lane";
    }

    std::optional<Cost> CostOf(const Collective& what,
                               const Placement& placement,
                               const AlgorithmOptions& options) const override
    {
        // The counts of the proof, in chunks; the destinations come from the steps.
        Cost cost;
        const uint64_t chunk = what.bytes / m_chunks;
        cost.chain = m_proof.longestChain;
        cost.reducedPerRank = static_cast<double>(Most(m_proof.bytesReduced) * chunk);
        cost.copiedPerRank = static_cast<double>(Most(m_proof.bytesCopied) * chunk);
        SendTally tally(placement);
        std::vector<uint64_t> posts(m_ranks, 0);
        std::vector<uint64_t> received(m_ranks, 0);
        for (Rank rank = 0; rank < m_ranks; rank++)
        {
            for (const auto& steps : m_lanes->steps[rank])
            {
                for (const ChunkStep& step : steps)
                {
                    if (step.sendPeer != kNoRank)
                    {
                        tally.Send(rank, step.sendPeer, step.count * chunk);
                        received[step.sendPeer] += step.count * chunk;
                        posts[rank] +=
                            MscclSchedule::MessagesOf(step, chunk, options.pipelineBytes);
                    }
                }
            }
        }
        tally.AddTo(cost);
        cost.posts = Most(posts);
        cost.serialBytes = std::max(cost.sentPerRank, static_cast<double>(Most(received)));
        return cost;
    }

    std::unique_ptr<Schedule> Make(const Collective& what,
                                   const Placement& placement,
                                   const AlgorithmOptions& options) const override
    {
        const std::string why = WhyNot(what, placement, options);
        if (!why.empty())
        {
            throw std::invalid_argument(m_name + ": " + why);
        }
        return std::make_unique<MscclSchedule>(what, m_lanes, m_chunks, options.pipelineBytes);
    }

  private:
    static constexpr uint64_t kMostSteps = 1 << 24;

    static uint64_t Most(const std::vector<uint64_t>& values)
    {
        return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
    }

    std::string m_name;
    Op m_op;
    Rank m_root;
    Rank m_ranks;
    uint64_t m_chunks;
    uint32_t m_line; ///< where they are said
    std::shared_ptr<const MscclLanes> m_lanes;
    CheckReport m_proof;
};

} // namespace

std::unique_ptr<Algorithm>
ReadMscclXml(const std::string& text, const std::string& name, std::string* error)
{
    MscclProgram program;
    auto lanes = std::make_shared<MscclLanes>();
    if (!ParseMscclProgram(text, name, &program, error) ||
        !OrderMscclProgram(program, name, lanes.get(), error))
    {
        return nullptr;
    }
    auto algorithm = std::make_unique<MscclAlgorithm>(name, program, std::move(lanes));
    const std::string problem = algorithm->Prove(program);
    if (!problem.empty())
    {
        *error = name + ":" + problem;
        return nullptr;
    }
    return algorithm;
}

std::string
WhyNoElements(const Algorithm& algorithm, uint64_t bytes, uint32_t elementBytes)
{
    const auto* file = dynamic_cast<const MscclAlgorithm*>(&algorithm);
    return file ? file->WhyNoElements(bytes, elementBytes) : "";
}

std::string
RegisterMscclFile(const std::string& path)
{
    static std::map<std::string, std::string> known; // texts by path
    const std::string unreadable = rdma::WhyUnreadable(path);
    if (!unreadable.empty())
    {
        return unreadable;
    }
    std::ifstream file(path, std::ios::binary);
    std::string text;
    char block[65536];
    while (text.size() <= kLargestMscclFile && (file.read(block, sizeof block), file.gcount() > 0))
    {
        text.append(block, static_cast<std::size_t>(file.gcount()));
    }
    if (text.size() > kLargestMscclFile)
    {
        return path + ": more than " + std::to_string(kLargestMscclFile >> 20) + " MiB";
    }
    topo::FilesRead::Note(path, text);
    const auto found = known.find(path);
    if (found != known.end())
    {
        return found->second == text ? "" : path + ": has changed since it was read";
    }
    std::string error;
    std::unique_ptr<Algorithm> algorithm = ReadMscclXml(text, path, &error);
    if (!algorithm)
    {
        return error;
    }
    RegisterUnlisted(std::move(algorithm));
    known[path] = std::move(text);
    return {};
}

} // namespace coll
