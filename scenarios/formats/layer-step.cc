/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/layer-step.h"

#include "collectives/core/registry.h"

#include <algorithm>
#include <map>
#include <utility>

namespace formats::layers
{

using coll::Op;
using coll::Rank;
using training::Phase;
using training::StepGraph;
using training::Task;
using training::TaskId;
using training::TaskKind;

namespace
{

constexpr std::pair<Group, const char*> kGroupNames[] = {{Group::kAll, "all"},
                                                         {Group::kServer, "server"},
                                                         {Group::kPlace, "place"},
                                                         {Group::kTensor, "tp"},
                                                         {Group::kData, "dp"},
                                                         {Group::kExpert, "ep"},
                                                         {Group::kDataExpert, "dp-ep"}};

constexpr Phase kPhases[] = {Phase::kForward, Phase::kBackward, Phase::kGradient};

class Maker
{
  public:
    explicit Maker(const List& list)
        : m_list(list)
    {
    }

    training::TrainingPlan Make();

  private:
    TaskId Compute(const Layer& layer, Pass pass, bool again, std::vector<TaskId> after);
    /// \return what ends it, or `before` if there is none
    std::vector<TaskId> Communicate(const Layer& layer,
                                    Pass pass,
                                    bool again,
                                    std::vector<TaskId> before);
    void Update(const Layer& layer, const std::vector<TaskId>& after);
    uint32_t KindOf(Group group);
    TaskId Add(Task task, const std::string& stream);
    void MakeMicro();
    void MakeForward();
    void MakeBackward();
    void MakeDlrm();

    const List& m_list;
    std::map<Group, uint32_t> m_kinds;
    training::TrainingPlan m_plan;
    StepGraph m_graph;
    std::map<std::string, uint16_t> m_streams;
    std::vector<TaskId> m_last; ///< dependencies of the next task of computing
};

uint32_t
Maker::KindOf(Group group)
{
    const auto number = static_cast<uint32_t>(m_plan.groupKinds.size());
    const auto [found, isNew] = m_kinds.try_emplace(group, number);
    if (isNew)
    {
        const auto name = std::find_if(std::begin(kGroupNames),
                                       std::end(kGroupNames),
                                       [&](const auto& one) { return one.first == group; });
        m_plan.groupKinds.push_back({name->second, RanksOf(m_list, group)});
    }
    return found->second;
}

TaskId
Maker::Add(Task task, const std::string& stream)
{
    const auto [found, isNew] =
        m_streams.try_emplace(stream, static_cast<uint16_t>(m_graph.streams.size()));
    if (isNew)
    {
        m_graph.streams.push_back(stream);
    }
    task.stream = found->second;
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    m_graph.tasks.push_back(std::move(task));
    return static_cast<TaskId>(m_graph.tasks.size() - 1);
}

TaskId
Maker::Compute(const Layer& layer, Pass pass, bool again, std::vector<TaskId> after)
{
    Task task;
    task.phase = pass == kForward && !again ? Phase::kForward : Phase::kBackward;
    task.duration = layer.work[pass].time;
    task.name = std::string(kPassNames[pass]) + (again ? " again " : " ") + layer.name;
    task.after = std::move(after);
    return Add(std::move(task), "compute");
}

std::vector<TaskId>
Maker::Communicate(const Layer& layer, Pass pass, bool again, std::vector<TaskId> before)
{
    const Work& work = layer.work[pass];
    if (!work.op || work.bytes == 0 || work.group == Group::kNone)
    {
        return before;
    }
    const uint32_t kind = KindOf(work.group);
    const auto ranks = m_plan.groupKinds[kind].groups[0].size();
    if (ranks == 1)
    {
        return before;
    }
    Task task;
    task.kind = TaskKind::kCollective;
    task.phase = kPhases[pass];
    task.op = *work.op;
    // A rank's part: see the header.
    task.bytes =
        work.bytes * (*work.op == Op::kAllGather && !m_list.IsTransformer() ? uint64_t{ranks} : 1);
    task.group = kind;
    task.name = std::string(coll::OpName(*work.op)) + " " + kPassNames[pass] +
                (again ? " again " : " ") + layer.name;
    task.after = std::move(before);
    return {Add(std::move(task), m_plan.groupKinds[kind].name)};
}

void
Maker::Update(const Layer& layer, const std::vector<TaskId>& after)
{
    if (layer.update.ps == 0 || m_graph.tasks[after[0]].kind != TaskKind::kCollective)
    {
        return;
    }
    Task task;
    task.kind = TaskKind::kHost;
    task.phase = Phase::kOptimizer;
    task.duration = layer.update;
    task.name = "update " + layer.name;
    task.after = after;
    Add(std::move(task), "updates");
}

void
Maker::MakeMicro()
{
    for (const Layer& layer : m_list.layers)
    {
        const auto end = Communicate(layer, kWeight, false, {});
        if (!end.empty())
        {
            Update(layer, end);
        }
    }
}

void
Maker::MakeForward()
{
    for (const Layer& layer : m_list.layers)
    {
        m_last = Communicate(layer, kForward, false, {Compute(layer, kForward, false, m_last)});
    }
}

void
Maker::MakeBackward()
{
    const bool data = m_list.policy == Policy::kData;
    for (std::size_t i = m_list.layers.size(); i-- > 0;)
    {
        const Layer& layer = m_list.layers[i];
        if (layer.again)
        {
            std::size_t from = i;
            while (!m_list.layers[from].checkpoint)
            {
                --from;
            }
            for (; from < i; ++from)
            {
                const Layer& once = m_list.layers[from];
                m_last = Communicate(once, kForward, true, {Compute(once, kForward, true, m_last)});
            }
        }
        if (data)
        {
            // Gradients of weights come first; of the first layer's inputs there are none.
            const TaskId weight = Compute(layer, kWeight, false, m_last);
            Update(layer, Communicate(layer, kWeight, false, {weight}));
            m_last = {i > 0 ? Compute(layer, kInput, false, {weight}) : weight};
            continue;
        }
        const TaskId input = Compute(layer, kInput, false, m_last);
        const auto shared = i > 0 || m_list.IsTransformer()
                                ? Communicate(layer, kInput, false, {input})
                                : std::vector<TaskId>{input};
        // Transformers await the one before the other.
        const TaskId weight = Compute(layer,
                                      kWeight,
                                      false,
                                      m_list.IsTransformer() ? shared : std::vector<TaskId>{input});
        Update(layer, Communicate(layer, kWeight, false, {weight}));
        m_last = shared;
        m_last.push_back(weight);
    }
}

void
Maker::MakeDlrm()
{
    const std::size_t bottom = m_list.bottom;
    std::vector<TaskId> embedding;
    for (std::size_t i = 0; i < m_list.layers.size(); ++i)
    {
        const TaskId forward = Compute(m_list.layers[i], kForward, false, m_last);
        m_last = {forward};
        if (i == 0)
        {
            embedding = Communicate(m_list.layers[0], kForward, false, m_last);
        }
        if (i == bottom)
        {
            m_last.insert(m_last.end(), embedding.begin(), embedding.end());
        }
    }
    std::vector<TaskId> back;
    for (std::size_t i = m_list.layers.size(); i-- > 0;)
    {
        const Layer& layer = m_list.layers[i];
        const TaskId weight = Compute(layer, kWeight, false, m_last);
        Update(layer, Communicate(layer, kWeight, false, {weight}));
        m_last = {weight};
        if (i > 0)
        {
            m_last = {Compute(layer, kInput, false, {weight})};
        }
        if (i == bottom + 1)
        {
            Communicate(m_list.layers[0], kInput, false, m_last);
        }
    }
}

training::TrainingPlan
Maker::Make()
{
    m_streams["compute"] = 0;
    m_graph.streams = {"compute"};
    m_plan.ranks = m_list.ranks;
    switch (m_list.policy)
    {
    case Policy::kMicro:
        MakeMicro();
        break;
    case Policy::kDlrm:
        MakeDlrm();
        break;
    default:
        MakeForward();
        if (m_list.policy != Policy::kInference)
        {
            MakeBackward();
        }
    }
    if (m_plan.groupKinds.empty())
    {
        m_plan.groupKinds.push_back({"all", RanksOf(m_list, Group::kAll)});
    }
    m_plan.roles.push_back(std::move(m_graph));
    m_plan.roleOf.assign(m_list.ranks, 0);
    return std::move(m_plan);
}

} // namespace

std::vector<std::vector<Rank>>
RanksOf(const List& list, Group group)
{
    // Ranks number b * block + p + i * stride, i < size, for each b and p < stride.
    const auto strided = [&list](uint64_t size, uint64_t stride) {
        std::vector<std::vector<Rank>> groups;
        for (uint64_t block = 0; block < list.ranks; block += size * stride)
        {
            for (uint64_t p = 0; p < stride; ++p)
            {
                auto& ranks = groups.emplace_back();
                for (uint64_t i = 0; i < size; ++i)
                {
                    ranks.push_back(static_cast<Rank>(block + p + i * stride));
                }
            }
        }
        return groups;
    };
    const uint64_t data = std::max<uint64_t>(list.ranks / (list.tensor * list.stages), 1);
    switch (group)
    {
    case Group::kServer:
        return strided(list.gpusPerServer, 1);
    case Group::kPlace:
        return strided(list.ranks / list.gpusPerServer, list.gpusPerServer);
    case Group::kTensor:
        return strided(list.tensor, 1);
    case Group::kData:
        return strided(data, list.ranks / data);
    case Group::kExpert: // of tensor groups one after another
        return strided(list.experts, list.tensor);
    case Group::kDataExpert:
        return strided(data / list.experts, list.tensor * list.experts);
    default:
        return strided(list.ranks, 1);
    }
}

training::TrainingPlan
MakeStep(const List& list)
{
    return Maker(list).Make();
}

} // namespace formats::layers
