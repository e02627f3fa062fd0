/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CRITICAL_PATH_H
#define CRITICAL_PATH_H

#include "step-runner.h"
#include "tail-attribution.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * What made a step as long as it was: walked back from its last call.
 *
 *     rank 7   forward .. backward ......| reduce-scatter (enters last) ...|
 *     rank 2   forward .. backward .|  waits                               | optimizer | all-gather
 *
 * A call starts when the last of those it waits for has ended: the call before it on its stream,
 * or one that its step graph names. A collective cannot end before its last rank has entered: its
 * part of the path begins there, and goes on with what that rank did before. So the calls of the
 * path follow one another without a gap, from the step's beginning on the rank where the path ends
 * up to the end of the step.
 *
 * Collectives are divided further as the completion times of their messages are (TailAttribution),
 * those without messages between servers not.
 */
class CriticalPath
{
  public:
    /// \param plan kept by reference
    explicit CriticalPath(const training::TrainingPlan& plan);

    /// A call of any rank has ended.
    void OnCall(const CallRecord& call);
    /// All ranks have ended this step: walk back.
    void OnStep(uint32_t step);

    /// \return parts of stats.json; null if no step has ended. \param tagOf number of a
    /// collective's name in `attribution`, which may be null
    nlohmann::ordered_json ToJson(const TailAttribution* attribution,
                                  const std::vector<std::string>& tags) const;
    /// \return a line
    std::string InWords() const;

  private:
    struct Times
    {
        int64_t start{-1};
        int64_t end{-1};
    };

    /// A call on the path.
    struct Part
    {
        const training::Task* task;
        Rank rank;      //!< of a collective: who entered last
        int64_t start;  //!< of a collective: when that rank entered
        int64_t end;    //!< when the path leaves it
        int64_t waited; //!< of a collective: how long the first rank had waited for the last
    };

    using Step = std::vector<Times>; //!< by m_offsets[rank] + task

    const Times& Of(const Step& step, Rank rank, training::TaskId task) const
    {
        return step[m_offsets[rank] + task];
    }

    const training::TrainingPlan& m_plan;
    std::vector<std::size_t> m_offsets;                  //!< by rank
    std::vector<std::vector<training::TaskId>> m_before; //!< by role and task: on its stream
    std::vector<std::vector<const std::vector<Rank>*>> m_groupOf; //!< by group kind and rank
    std::map<uint32_t, Step> m_steps;
    std::vector<Part> m_path; //!< of the step kept last, in the order of time
    uint32_t m_kept{0};
};

} // namespace dltrain

#endif /* CRITICAL_PATH_H */
