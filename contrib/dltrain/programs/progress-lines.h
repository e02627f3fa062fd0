/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_PROGRESS_LINES_H
#define DLTRAIN_PROGRESS_LINES_H

#include <chrono>
#include <string>

namespace dltrain
{

/// What a program of several runs does next, on stderr: a terminal gets each line, a log at most
/// one in 10 s and none of a shorter run, as of RunControl's progress.
class ProgressLines
{
  public:
    /// \param shown --progress
    explicit ProgressLines(bool shown);

    void Tell(const std::string& line);

  private:
    bool m_shown;
    bool m_terminal;
    std::chrono::steady_clock::time_point m_next; //!< of a log
};

} // namespace dltrain

#endif /* DLTRAIN_PROGRESS_LINES_H */
