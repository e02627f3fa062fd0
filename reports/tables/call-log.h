/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_CALL_LOG_H
#define REPORTS_TABLES_CALL_LOG_H

#include "reports/base/line-log.h"
#include "reports/base/records.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <string>

namespace reports
{

/**
 * calls.log: a line for each call of the measured steps, in the order they end. With more than
 * `most` calls it keeps those of every n-th rank. If one rank alone has more, it keeps those of the
 * first steps. The head says so. A warm-up that is repeated after measuring has begun is in
 * it as step 0. Calls that an abort ended are in it, too, with the steps that they belong to.
 */
class CallLog
{
  public:
    static constexpr uint64_t MOST = 1000000; //!< lines

    /// \param plan kept by reference \param warmup steps that are not in it \param steps measured
    CallLog(const training::TrainingPlan& plan,
            uint32_t warmup,
            uint32_t steps,
            uint64_t most = MOST);

    /// \return whether that worked
    bool Open(const std::string& path);
    /// The kind of a call.
    enum class How : uint8_t
    {
        kPlain,
        kAgain,  ///< the job began again
        kAborted ///< it did not end: its ranks did
    };

    /// Any call; those of the warm-up (but kAgain) and those left out are not written.
    void Write(const CallRecord& call, How how = How::kPlain);
    void Close();

  private:
    const training::TrainingPlan& m_plan;
    uint32_t m_warmup;
    uint32_t m_everyRank{1}; //!< every n-th
    uint32_t m_steps;        //!< the first
    bool m_allSteps{true};
    LineLog m_file;
    std::string m_line;
};

} // namespace reports

#endif // REPORTS_TABLES_CALL_LOG_H
