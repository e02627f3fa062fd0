/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "progress-lines.h"

#include "contrib/dltrain/base/console.h"

#include <unistd.h>

namespace dltrain
{

namespace
{

constexpr auto LOG_EVERY = std::chrono::seconds(10);

} // namespace

ProgressLines::ProgressLines(bool shown)
    : m_shown(shown),
      m_terminal(isatty(STDERR_FILENO) != 0),
      m_next(std::chrono::steady_clock::now() + LOG_EVERY)
{
}

void
ProgressLines::Tell(const std::string& line)
{
    const auto now = std::chrono::steady_clock::now();
    if (!m_shown || (!m_terminal && now < m_next))
    {
        return;
    }
    m_next = now + LOG_EVERY;
    SayProgress(line);
}

} // namespace dltrain
