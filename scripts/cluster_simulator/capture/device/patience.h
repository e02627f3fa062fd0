/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a rank waits for another one. One that computes (reads its data, builds its model) will
 * come, however slow this machine is: only time in which it sleeps, or waits itself, counts.
 */
#ifndef CAPTURE_PATIENCE_H
#define CAPTURE_PATIENCE_H

#include <chrono>
#include <cstdint>
#include <string>

namespace capture
{

class Patience
{
  public:
    /// \param seconds so long
    /// \param processFile has the number of the other rank's process; while it is not there, all
    /// time counts
    Patience(double seconds, std::string processFile);

    /// To be asked often.
    bool IsOver();

  private:
    /// Whether it computed since the last time it was asked.
    bool IsBusy(double sinceS);

    const double m_seconds;
    const std::string m_processFile;
    double m_slept = 0;
    int64_t m_ticks = -1; ///< CPU time that it has used
    std::chrono::steady_clock::time_point m_looked;
};

} // namespace capture

#endif // CAPTURE_PATIENCE_H
