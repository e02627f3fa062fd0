/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture-rank.h"

#include "collectives/core/registry.h"
#include "scenarios/formats/capture/capture-object.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recording.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace formats
{

using coll::Op;
using coll::Rank;
using nlohmann::json;
using training::Phase;
using training::Task;
using training::TaskId;
using training::TaskKind;

CaptureShared::CaptureShared(const CaptureMachine& ofRun, const CaptureMeta& meta)
    : machine(ofRun),
      step(meta.step),
      groupKinds(meta.groupKinds),
      modules{""},
      kernels(ofRun.gpu),
      m_moduleOf{{"", 0}}
{
}

uint32_t
CaptureShared::KindWithRoot(uint32_t kind, uint64_t root)
{
    if (root == 0)
    {
        return kind;
    }
    const auto [found, isNew] =
        m_rootKinds.try_emplace({kind, root}, static_cast<uint32_t>(groupKinds.size()));
    if (isNew)
    {
        training::GroupKind turned = groupKinds[kind];
        turned.name += " from position " + std::to_string(root);
        for (auto& ranks : turned.groups)
        {
            if (root < ranks.size())
            {
                std::rotate(ranks.begin(),
                            ranks.begin() + static_cast<std::ptrdiff_t>(root),
                            ranks.end());
            }
        }
        groupKinds.push_back(std::move(turned));
    }
    return found->second;
}

uint32_t
CaptureShared::ModuleOf(const std::string& path)
{
    const auto [found, isNew] = m_moduleOf.try_emplace(path, static_cast<uint32_t>(modules.size()));
    if (isNew)
    {
        modules.push_back(path);
    }
    return found->second;
}

namespace
{

constexpr TaskId kNoTask = UINT32_MAX;
const std::vector<std::string> kReductions =
    {"sum", "avg", "product", "min", "max", "band", "bor", "bxor", "other"};

rdma::Duration
FromSeconds(double seconds)
{
    return rdma::Duration(static_cast<int64_t>(seconds * 1e12 + 0.5));
}

/// The phase in the text of a key "phase".
Phase
PhaseOf(const std::string& text)
{
    return text == "forward"     ? Phase::kForward
           : text == "backward"  ? Phase::kBackward
           : text == "optimizer" ? Phase::kOptimizer
                                 : Phase::kOther;
}

/// Reads the lines of one file.
class RankReader
{
  public:
    RankReader(std::string file, Rank rank, CaptureShared* shared, std::vector<topo::Error>& errors)
        : m_file(std::move(file)),
          m_rank(rank),
          m_shared(shared),
          m_errors(errors)
    {
        m_role.graph.streams = {"compute"};
    }

    bool Read(const std::string& text);

    CapturedRole&& Role()
    {
        return std::move(m_role);
    }

  private:
    bool ReadLine(const json& document, const std::string& where);
    bool ReadHead(CaptureObject& line);
    bool ReadTask(CaptureObject& line);
    bool SetWork(CaptureObject& line, const std::string& kind, uint64_t stream, Task* task);
    bool SetProgram(CaptureObject& line, const std::string& kind, Task* task);
    bool SetCollective(CaptureObject& line, Task* task);
    bool SetMessage(CaptureObject& line, bool sends, Task* task);
    bool SetCopy(CaptureObject& line, Task* task);
    bool SetKernel(CaptureObject& line, const std::string& kind, uint64_t stream, Task* task);
    bool SetAfter(CaptureObject& line, uint64_t id, Task* task);
    void TakeTurn(TaskId own, uint64_t stream, uint64_t batch, Task* task);
    std::string NameOf(uint64_t stream) const;
    uint16_t StreamOf(const std::string& name);

    /// On a stream of NCCL's: those that start together, and those before.
    struct Batch
    {
        uint64_t number = UINT64_MAX;
        std::vector<TaskId> tasks;
        std::vector<TaskId> before;
    };

    const std::string m_file;
    const Rank m_rank;
    CaptureShared* const m_shared;
    std::vector<topo::Error>& m_errors;
    CapturedRole m_role;
    bool m_hasHead = false;
    uint64_t m_tasks = UINT64_MAX; ///< by the line of the rank, if it says so
    uint64_t m_nextId = 0;
    std::vector<std::string> m_streamNames;                    ///< streams of the file
    std::map<std::string, uint16_t> m_streams{{"default", 0}}; ///< streams of the graph
    std::map<uint64_t, Batch> m_batches;                       ///< by stream of the file
    std::unordered_map<uint64_t, TaskId> m_taskOf;             ///< by id
    TaskId m_program = kNoTask; ///< last task of the program that holds up later ones
};

std::string
RankReader::NameOf(uint64_t stream) const
{
    return m_streamNames.empty() ? "default" : m_streamNames[stream];
}

uint16_t
RankReader::StreamOf(const std::string& name)
{
    const auto [found, isNew] =
        m_streams.try_emplace(name, static_cast<uint16_t>(m_role.graph.streams.size()));
    if (isNew)
    {
        m_role.graph.streams.push_back(name);
    }
    return found->second;
}

bool
RankReader::SetProgram(CaptureObject& line, const std::string& kind, Task* task)
{
    task->kind = TaskKind::kHost;
    task->duration = rdma::Duration(static_cast<int64_t>(line.Real("us", 1e9, 0) * 1e6 + 0.5));
    task->stream = StreamOf("program");
    task->name = task->name.empty() ? kind : task->name;
    return true;
}

bool
RankReader::SetCollective(CaptureObject& line, Task* task)
{
    const auto& kinds = m_shared->groupKinds;
    const std::string name = line.Text("op");
    const auto op = coll::ParseOp(name);
    if (!op || *op == Op::kSendRecv)
    {
        return line.Fail("op is " + topo::Quoted(name) +
                         ", no collective; allowed: all_reduce, reduce_scatter, all_gather, "
                         "broadcast, reduce, gather, scatter, alltoall, alltoallv, barrier");
    }
    line.Needs({"group", "stream"});
    if (*op != Op::kBarrier)
    {
        line.Needs({"bytes"});
    }
    line.Dtype();
    line.OneOf("reduce", kReductions);
    line.Whole("sequence", UINT32_MAX, 0);
    const uint64_t kind = line.Whole("group", kinds.empty() ? 0 : kinds.size() - 1, 0);
    const uint64_t root = line.Whole("root", kMostRanks, 0);
    task->kind = TaskKind::kCollective;
    task->op = *op;
    task->bytes = *op == Op::kBarrier ? 0 : line.Whole("bytes", kMostBytes, 0);
    if (!line.IsFine() || kinds.empty())
    {
        return line.Fail("there is no group");
    }
    task->group = static_cast<uint32_t>(kind);
    if (coll::HasRoot(*op))
    {
        task->group = m_shared->KindWithRoot(task->group, root);
    }
    if (*op == Op::kAllToAllV)
    {
        m_role.sends.emplace_back(static_cast<TaskId>(m_role.graph.tasks.size()),
                                  line.Wholes("sends", kMostBytes));
    }
    return line.IsFine();
}

bool
RankReader::SetMessage(CaptureObject& line, bool sends, Task* task)
{
    const auto& kinds = m_shared->groupKinds;
    line.Needs({"group", "stream", "bytes", "peer"});
    line.Dtype();
    line.Whole("sequence", UINT32_MAX, 0);
    const uint64_t kind = line.Whole("group", kinds.empty() ? 0 : kinds.size() - 1, 0);
    task->kind = sends ? TaskKind::kSend : TaskKind::kRecv;
    task->bytes = line.Whole("bytes", kMostBytes, 0);
    task->group = static_cast<uint32_t>(kind);
    const json peer = line.Has("peer") ? line.At("peer") : json();
    if (!line.IsFine() || kinds.empty() || !peer.is_number_integer() ||
        peer.get<int64_t>() < -int64_t{kMostRanks} || peer.get<int64_t>() > int64_t{kMostRanks} ||
        peer.get<int64_t>() == 0)
    {
        return line.Fail("peer is no other position in the group");
    }
    task->peerOffset = static_cast<int32_t>(peer.get<int64_t>());
    return true;
}

bool
RankReader::SetCopy(CaptureObject& line, Task* task)
{
    const CaptureMachine& machine = m_shared->machine;
    if (machine.hostLinkRate <= 0)
    {
        return line.Fail("is a copy over PCIe, and its rate on " + machine.gpu.name +
                         " is not known");
    }
    line.Needs({"bytes", "direction", "stream"});
    const bool to = line.OneOf("direction", {"to-gpu", "from-gpu"}) == "to-gpu";
    task->kind = TaskKind::kHost;
    task->bytes = line.Whole("bytes", kMostBytes, 0);
    // It is begun as a kernel is: that this takes as long is assumed.
    task->duration = FromSeconds(machine.gpu.rates.launch +
                                 static_cast<double>(task->bytes) / machine.hostLinkRate);
    task->stream = StreamOf(to ? "to GPU" : "from GPU");
    return true;
}

bool
RankReader::SetKernel(CaptureObject& line, const std::string& kind, uint64_t stream, Task* task)
{
    const auto& kinds = CaptureKernels::Names();
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    {
        return line.Fail("kind is " + topo::Quoted(kind) + "; allowed: " + topo::JoinNames(kinds) +
                         ", memcpy, collective, send, recv, sync, host");
    }
    const bool fine =
        line.Needs({"stream"}) && m_shared->kernels.Set(line, kind, task, &m_role.work);
    if (stream != 0)
    {
        m_shared->anySide = true;
        task->kind = TaskKind::kHost; // beside computing
        task->stream = StreamOf(NameOf(stream));
    }
    return fine;
}

/// Sets the work of a task, and its stream in the graph.
bool
RankReader::SetWork(CaptureObject& line, const std::string& kind, uint64_t stream, Task* task)
{
    if (kind == "host" || kind == "sync")
    {
        return SetProgram(line, kind, task);
    }
    if (kind == "collective")
    {
        const bool fine = SetCollective(line, task);
        const bool hasGroup = task->group < m_shared->groupKinds.size();
        task->stream =
            StreamOf(NameOf(stream) + (hasGroup ? " " + std::to_string(task->group) : ""));
        return fine;
    }
    if (kind == "send" || kind == "recv")
    {
        const bool fine = SetMessage(line, kind == "send", task);
        task->stream = StreamOf(NameOf(stream) + " " + kind + " " + std::to_string(task->group) +
                                " " + std::to_string(task->peerOffset));
        return fine;
    }
    return kind == "memcpy" ? SetCopy(line, task) : SetKernel(line, kind, stream, task);
}

/// Sets the dependencies from the line and from the program.
bool
RankReader::SetAfter(CaptureObject& line, uint64_t id, Task* task)
{
    for (const uint64_t before : line.Wholes("after", UINT32_MAX))
    {
        if (before >= id)
        {
            return line.Fail("after names " + std::to_string(before) +
                             "; allowed: numbers smaller than its own, " + std::to_string(id));
        }
        const auto found = m_taskOf.find(before);
        if (found != m_taskOf.end()) // else of a step before
        {
            task->after.push_back(found->second);
        }
    }
    if (m_program != kNoTask)
    {
        task->after.push_back(m_program);
    }
    return true;
}

/// The stream of the file: what starts together does, all else one after another.
void
RankReader::TakeTurn(TaskId own, uint64_t stream, uint64_t number, Task* task)
{
    Batch& batch = m_batches[stream];
    if (number == UINT64_MAX || number != batch.number)
    {
        batch.before = std::exchange(batch.tasks, {});
        batch.number = number;
    }
    task->after.insert(task->after.end(), batch.before.begin(), batch.before.end());
    batch.tasks.push_back(own);
}

bool
RankReader::ReadTask(CaptureObject& line)
{
    const std::string kind = line.Text("kind");
    const uint64_t id = line.Whole("id", UINT32_MAX, UINT64_MAX);
    const json step = line.Has("step") ? line.At("step") : json();
    if (!line.IsFine() || id == UINT64_MAX || !step.is_number_integer())
    {
        return line.Fail("id or step is missing");
    }
    if (id != m_nextId)
    {
        return line.Fail("id is " + std::to_string(id) + "; allowed: " + std::to_string(m_nextId) +
                         ", as ids count the tasks of the file");
    }
    ++m_nextId;
    if (step.get<int64_t>() != static_cast<int64_t>(m_shared->step))
    {
        return true;
    }
    Task task;
    task.name = line.Text("name");
    if (line.Has("line"))
    {
        task.name += " " + line.Text("line");
    }
    task.phase = PhaseOf(line.OneOf("phase", {"forward", "backward", "optimizer", "other"}));
    const uint64_t stream =
        line.Whole("stream", m_streamNames.empty() ? 0 : m_streamNames.size() - 1, 0);
    if (!SetWork(line, kind, stream, &task))
    {
        return false;
    }
    const bool program = kind == "host" || kind == "sync";
    const bool blocks = program || (kind == "memcpy" && line.Flag("blocking"));
    if (!line.IsFine() || !SetAfter(line, id, &task))
    {
        return false;
    }
    const auto own = static_cast<TaskId>(m_role.graph.tasks.size());
    const bool communicates = kind == "collective" || kind == "send" || kind == "recv";
    if (!program)
    {
        TakeTurn(own,
                 stream,
                 communicates ? line.Whole("batch", UINT32_MAX, UINT64_MAX) : UINT64_MAX,
                 &task);
    }
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    if (task.after.size() > UINT16_MAX)
    {
        return line.Fail("waits for more than 65535 tasks");
    }
    if (blocks)
    {
        m_program = own;
    }
    const std::string module = line.Text("module");
    if (!line.IsFine())
    {
        return false;
    }
    m_taskOf.emplace(id, own);
    m_role.graph.tasks.push_back(std::move(task));
    m_role.modules.push_back(m_shared->ModuleOf(module));
    return true;
}

bool
RankReader::ReadHead(CaptureObject& line)
{
    if (!line.Has("streams") || !line.At("streams").is_array())
    {
        return line.Fail("streams is missing");
    }
    if (m_hasHead || m_nextId > 0)
    {
        return line.Fail("a line of the rank stands behind the first one");
    }
    m_hasHead = true;
    if (line.Whole("rank", kMostRanks, kMostRanks) != m_rank || !line.IsFine())
    {
        return line.Fail("rank is not that of the file's name, " + std::to_string(m_rank));
    }
    m_tasks = line.Whole("tasks", UINT32_MAX, UINT64_MAX);
    if (!line.IsFine())
    {
        return false;
    }
    for (const json& name : line.At("streams"))
    {
        if (!name.is_string())
        {
            return line.Fail("streams has what is no text");
        }
        m_streamNames.push_back(name.get<std::string>());
    }
    return true;
}

/// \param where file and line, for errors
bool
RankReader::ReadLine(const json& document, const std::string& where)
{
    CaptureObject line(document, where, "", m_errors);
    if (!document.is_object())
    {
        return line.Fail("is no JSON object");
    }
    if (line.Text("kind") == "rank")
    {
        return ReadHead(line);
    }
    return m_hasHead ? ReadTask(line) : line.Fail("the first line is not that of the rank");
}

bool
RankReader::Read(const std::string& text)
{
    uint64_t number = 0;
    for (std::size_t begin = 0; begin < text.size();)
    {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        ++number;
        const std::string where = m_file + ":" + std::to_string(number);
        if (text.find_first_not_of(" \t\r\n", begin) >= end)
        {
            begin = end + 1;
            continue;
        }
        const topo::JsonText line = topo::ParseJsonText(text.substr(begin, end - begin), m_file);
        const json& document = line.value;
        begin = end + 1;
        if (line.error)
        {
            topo::Error error = line.error;
            error.file = where + error.file.substr(m_file.size() + 2); // its line is "1"
            m_errors.push_back(std::move(error));
            return false;
        }
        if (!ReadLine(document, where))
        {
            return false;
        }
    }
    std::string problem;
    if (!m_hasHead)
    {
        problem = "has no line of the rank";
    }
    else if (m_tasks != UINT64_MAX && m_tasks != m_nextId)
    {
        problem = "has " + std::to_string(m_nextId) + " tasks, of " + std::to_string(m_tasks) +
                  " by its first line: it was cut";
    }
    else if (m_role.graph.streams.size() > UINT16_MAX)
    {
        problem = "has more than 65535 streams and pairs";
    }
    if (!problem.empty())
    {
        AddError(m_errors, m_file, "", problem);
    }
    return problem.empty();
}

} // namespace

std::optional<CapturedRole>
ReadCaptureRank(const std::string& folder,
                Rank rank,
                CaptureShared* shared,
                std::vector<topo::Error>& errors)
{
    const std::string file = folder + "/rank-" + std::to_string(rank) + ".jsonl";
    if (!IsFile(file))
    {
        AddError(errors,
                 file,
                 "",
                 "is missing, or no file: it is what rank " + std::to_string(rank) +
                     " of this capture did");
        return std::nullopt;
    }
    const auto text = ReadInput(file, errors);
    RankReader reader(file, rank, shared, errors);
    return text && reader.Read(*text) ? std::optional(reader.Role()) : std::nullopt;
}

} // namespace formats
