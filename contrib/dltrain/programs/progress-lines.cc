/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "progress-lines.h"

#include "contrib/rdma/core/shown-text.h"

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace dltrain
{

namespace
{

constexpr auto LOG_EVERY = std::chrono::seconds(10);

} // namespace

ProgressLines::ProgressLines(std::string program, bool shown)
    : m_program(std::move(program)),
      m_shown(shown),
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
    std::fprintf(stderr, "%s: %s\n", m_program.c_str(), rdma::Printable(line).c_str());
}

} // namespace dltrain
