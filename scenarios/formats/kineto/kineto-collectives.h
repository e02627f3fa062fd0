/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which collective or message a kernel of NCCL is, and its ranks, by the arguments that PyTorch's
 * profiler gives it.
 */
#ifndef SCENARIOS_FORMATS_KINETO_KINETO_COLLECTIVES_H
#define SCENARIOS_FORMATS_KINETO_KINETO_COLLECTIVES_H

#include "scenarios/formats/kineto/kineto-events.h"
#include "scenarios/formats/recording.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace formats
{

class KinetoCollectives
{
  public:
    /// \param run kept by reference
    explicit KinetoCollectives(const KinetoRun& run)
        : m_run(run)
    {
    }

    /// Makes it an event of this rank of the traces. False: Problem() says why not. Of a message
    /// that will be replicated, Event::communicator is its group, or kWithoutGroup.
    bool Make(const KinetoEntry& entry, coll::Rank rank, Event* event);

    /// Whether the last one is with ranks that are not simulated, and so no event was made.
    bool IsOutside() const
    {
        return m_outside;
    }

    const std::string& Problem() const
    {
        return m_problem;
    }

    /// Whether one of them has a root, which traces do not record.
    bool AnyRoot() const
    {
        return m_anyRoot;
    }

    /// Recording::communicators of all events so far.
    std::vector<Communicator> TakeCommunicators()
    {
        return std::move(m_list);
    }

  private:
    bool Fail(const std::string& problem)
    {
        m_problem = problem;
        return false;
    }

    bool FindGroup(const KinetoEntry& entry, uint32_t* communicator);

    const KinetoRun& m_run;
    std::string m_problem;
    std::vector<Communicator> m_list;
    /// Index into m_list.
    std::map<std::pair<std::string, std::vector<coll::Rank>>, uint32_t> m_communicators;
    std::map<std::string, uint64_t> m_tags; ///< tags of messages, by group
    bool m_anyRoot = false;
    bool m_outside = false;
};

constexpr uint32_t kWithoutGroup = UINT32_MAX;

} // namespace formats

#endif // SCENARIOS_FORMATS_KINETO_KINETO_COLLECTIVES_H
