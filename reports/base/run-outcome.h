/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_RUN_OUTCOME_H
#define REPORTS_BASE_RUN_OUTCOME_H

#include <cstdint>
#include <string>

namespace reports
{

/// How an event loop ended.
struct RunOutcome
{
    bool completed{false};   //!< the work is done
    bool interrupted{false}; //!< by a signal
    int exitStatus{0}; //!< 0 completed, 3 stuck or failed, 128 + signal interrupted (Ctrl-C: 130),
                       //!< 1 broken: out of memory, or what should not happen
    std::string message;    //!< why it is not completed; several lines; empty if it is
    double shareDone{0};    //!< 0 to 1
    int64_t simulatedPs{0}; //!< when it ended
    uint64_t events{0};
    double eventLoopS{0};       //!< wall time of the event loops so far
    double wallS{0};            //!< wall time since the RunControl was made
    uint32_t threads{1};        //!< threads that worked at the same time
    double parallelShare{0};    //!< share of the events that several threads ran: 0 to 1
    bool moreThreads{false};    //!< there were more, wherever that would have been faster
    bool threadsRefused{false}; //!< by the system
    bool oneUnit{false};        //!< links without delay: all nodes take turns
    bool turns{false};          //!< two sides of the network did, a delay ahead of each other
};

} // namespace reports

#endif // REPORTS_BASE_RUN_OUTCOME_H
