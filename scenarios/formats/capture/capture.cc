/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/capture/capture.h"

#include "collectives/core/block-sizes.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/asked/model.h"
#include "scenarios/formats/capture/capture-blocks.h"
#include "scenarios/formats/capture/capture-meta.h"
#include "scenarios/formats/capture/capture-rank.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/options/member.h"

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

namespace formats
{

using coll::Rank;
using training::StepGraph;
using training::Task;
using training::TaskKind;
using training::TrainingPlan;

namespace
{

constexpr uint32_t kNoGroup = UINT32_MAX;

/// Makes a plan of what the files of a capture say.
class CaptureReader
{
  public:
    CaptureReader(std::string folder,
                  const CaptureMachine& machine,
                  std::vector<topo::Error>& errors)
        : m_folder(std::move(folder)),
          m_machine(machine),
          m_errors(errors)
    {
    }

    std::optional<Captured> Read();

    /// The modules of the plan that was read.
    ModulesOfTasks& Modules()
    {
        return m_modulesOf;
    }

  private:
    using SharedSizes = std::shared_ptr<const coll::BlockSizes>;

    bool MakePlan();
    void FindGroups();
    bool CheckGroups();
    bool SetBlocks();
    SharedSizes BlocksOf(const Task& task, uint32_t g, std::size_t k);
    bool Fail(const std::string& problem);
    void AddNotes(const CaptureShared& shared);
    void SetWork();

    const CapturedRole& RoleOf(Rank rank) const
    {
        return m_roles.at(m_meta.roleOf[rank]);
    }

    const std::string m_folder;
    const CaptureMachine& m_machine;
    std::vector<topo::Error>& m_errors;
    CaptureMeta m_meta;
    std::map<Rank, CapturedRole> m_roles;         ///< by captured rank
    std::vector<std::vector<uint32_t>> m_groupOf; ///< by kind and rank: its group, or kNoGroup
    TrainingPlan m_plan;
    std::vector<std::string> m_notes;
    ModulesOfTasks m_modulesOf;
};

bool
CaptureReader::Fail(const std::string& problem)
{
    AddError(m_errors, m_folder, "", problem);
    return false;
}

void
CaptureReader::FindGroups()
{
    for (const training::GroupKind& kind : m_plan.groupKinds)
    {
        std::vector<uint32_t>& groupOf = m_groupOf.emplace_back(m_plan.ranks, kNoGroup);
        for (std::size_t g = 0; g < kind.groups.size(); ++g)
        {
            for (const Rank rank : kind.groups[g])
            {
                groupOf[rank] = static_cast<uint32_t>(g);
            }
        }
    }
}

/// Each rank has to have groups for what the rank did whose role it plays.
bool
CaptureReader::CheckGroups()
{
    std::map<Rank, std::set<uint32_t>> kindsOf; // by captured rank
    for (const auto& [captured, role] : m_roles)
    {
        for (const Task& task : role.graph.tasks)
        {
            if (task.kind == TaskKind::kCollective || task.kind == TaskKind::kSend ||
                task.kind == TaskKind::kRecv)
            {
                kindsOf[captured].insert(task.group);
            }
        }
    }
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        for (const uint32_t kind : kindsOf[m_meta.roleOf[rank]])
        {
            if (m_groupOf[kind][rank] == kNoGroup)
            {
                return Fail("rank " + std::to_string(rank) + " plays rank-" +
                            std::to_string(m_meta.roleOf[rank]) +
                            ".jsonl, and is in no group of \"" +
                            rdma::Shown(m_plan.groupKinds[kind].name, 60) + "\" of meta.json");
            }
        }
    }
    return true;
}

/// The lists of all members of group `g` for their all-to-all-v number `k`, which is `task`;
/// nullptr, and an error: one has none.
CaptureReader::SharedSizes
CaptureReader::BlocksOf(const Task& task, uint32_t g, std::size_t k)
{
    const auto& ranks = m_plan.groupKinds[task.group].groups[g];
    std::vector<uint64_t> sizes;
    for (const Rank member : ranks)
    {
        const auto& sends = RoleOf(member).sends;
        if (k >= sends.size() || sends[k].second.size() != ranks.size())
        {
            Fail("alltoallv \"" + rdma::Shown(task.name, 60) + "\": rank " +
                 std::to_string(member) + " has no sizes for the " + std::to_string(ranks.size()) +
                 " ranks of its group");
            return nullptr;
        }
        sizes.insert(sizes.end(), sends[k].second.begin(), sends[k].second.end());
    }
    return std::make_shared<const coll::BlockSizes>(static_cast<Rank>(ranks.size()), sizes);
}

/// Roles with an all-to-all-v become one a rank, as each has sizes of its own.
bool
CaptureReader::SetBlocks()
{
    // All ranks of a group share them: by kind of groups, group and number of the all-to-all-v.
    std::map<std::tuple<uint32_t, uint32_t, std::size_t>, SharedSizes> made;
    for (Rank rank = 0; rank < m_plan.ranks; ++rank)
    {
        const CapturedRole& role = RoleOf(rank);
        if (role.sends.empty())
        {
            continue;
        }
        StepGraph graph = role.graph;
        for (std::size_t k = 0; k < role.sends.size(); ++k)
        {
            Task& task = graph.tasks[role.sends[k].first];
            const uint32_t g = m_groupOf[task.group][rank];
            SharedSizes& blocks = made[{task.group, g, k}];
            if (!blocks && !(blocks = BlocksOf(task, g, k)))
            {
                return false;
            }
            task.blocks = blocks;
            task.bytes = blocks->LargestInput();
        }
        m_plan.roleOf[rank] = static_cast<uint32_t>(m_plan.roles.size());
        m_plan.roles.push_back(std::move(graph));
        m_modulesOf.ofTask.push_back(role.modules);
    }
    return true;
}

bool
CaptureReader::MakePlan()
{
    std::map<Rank, uint32_t> numberOf;
    for (const auto& [rank, role] : m_roles)
    {
        numberOf[rank] = static_cast<uint32_t>(m_plan.roles.size());
        m_plan.roles.push_back(role.graph);
        m_modulesOf.ofTask.push_back(role.modules);
    }
    for (const Rank role : m_meta.roleOf)
    {
        m_plan.roleOf.push_back(numberOf[role]);
    }
    FindGroups();
    return CheckGroups() && SetBlocks();
}

/// What the step trains, where it is known.
void
CaptureReader::SetWork()
{
    double flops = 0;
    double seconds = 0;
    for (const Rank role : m_meta.roleOf)
    {
        flops += m_roles.at(role).work.OfModel();
        seconds += m_roles.at(role).work.ModelSecondsAtPeak();
    }
    m_plan.flopsPerGpuPerStep = flops / m_meta.ranks;
    m_plan.peakFlops = seconds > 0 ? flops / seconds : 0;
    m_plan.samplesPerStep = m_meta.samples;
    m_plan.tokensPerStep = m_meta.tokens;
}

void
CaptureReader::AddNotes(const CaptureShared& shared)
{
    if (!m_meta.gpu.empty())
    {
        m_notes.push_back("captured for " + rdma::Shown(m_meta.gpu, 60) + "; times are those of " +
                          scenario::Spell(&scenario::asked::Model::gpu));
    }
    for (const auto& [dtype, other] : shared.kernels.Replaced())
    {
        m_notes.push_back(m_machine.gpu.name + " has no " + dtype +
                          ": such kernels take the times of " + other);
    }
    if (shared.anySide)
    {
        m_notes.emplace_back("kernels of other streams than the default one run beside it at full "
                             "speed");
    }
}

std::optional<Captured>
CaptureReader::Read()
{
    auto meta = ReadCaptureMeta(m_folder, m_errors);
    if (!meta)
    {
        return std::nullopt;
    }
    m_meta = std::move(*meta);
    CaptureShared shared(m_machine, m_meta);
    bool any = false;
    for (const Rank rank : m_meta.captured)
    {
        auto role = ReadCaptureRank(m_folder, rank, &shared, m_errors);
        if (!role)
        {
            return std::nullopt;
        }
        any = any || !role->graph.tasks.empty();
        m_roles.emplace(rank, std::move(*role));
    }
    if (!any)
    {
        Fail("has no task of step " + std::to_string(m_meta.step));
        return std::nullopt;
    }
    m_plan.ranks = m_meta.ranks;
    m_plan.groupKinds = std::move(shared.groupKinds);
    m_modulesOf.paths = std::move(shared.modules);
    if (!MakePlan())
    {
        return std::nullopt;
    }
    SetWork();
    m_notes = m_meta.notes;
    AddNotes(shared);
    return Captured{std::move(m_plan), m_meta.gpusPerServer, m_meta.torch, std::move(m_notes)};
}

} // namespace

bool
IsCapture(const std::string& folder)
{
    return IsFile(folder + "/meta.json");
}

std::optional<Captured>
ReadCapture(const std::string& folder,
            const CaptureMachine& machine,
            std::vector<topo::Error>& errors)
{
    return CaptureReader(folder, machine, errors).Read();
}

std::optional<ModulesOfTasks>
ReadModules(const std::string& folder, const CaptureMachine& machine)
{
    std::vector<topo::Error> errors;
    CaptureReader reader(folder, machine, errors);
    return IsCapture(folder) && reader.Read() ? std::optional(std::move(reader.Modules()))
                                              : std::nullopt;
}

} // namespace formats
