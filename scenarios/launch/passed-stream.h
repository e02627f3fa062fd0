/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_LAUNCH_PASSED_STREAM_H
#define SCENARIOS_LAUNCH_PASSED_STREAM_H

#include <cerrno>
#include <cstddef>
#include <string>
#include <sys/types.h>
#include <unistd.h>

namespace scenario
{

/// Passes text from a pipe to one of our own descriptors.
struct PassedStream
{
    int from = -1;
    int to = -1;
    int error = 0; ///< errno of the first write that failed

    bool IsOpen() const
    {
        return from >= 0;
    }

    void Close()
    {
        if (from >= 0)
        {
            ::close(from);
            from = -1;
        }
    }

    /// \return what has come; "" at its end, when it is closed
    std::string Read()
    {
        char text[65536];
        const ssize_t n = ::read(from, text, sizeof text);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
        {
            return "";
        }
        if (n <= 0)
        {
            Close();
            return "";
        }
        return {text, static_cast<std::size_t>(n)};
    }

    void Write(const std::string& text)
    {
        std::size_t at = 0;
        while (at < text.size() && !error)
        {
            const ssize_t n = ::write(to, text.data() + at, text.size() - at);
            if (n < 0 && errno != EINTR)
            {
                error = errno;
            }
            at += n > 0 ? static_cast<std::size_t>(n) : 0;
        }
    }
};

} // namespace scenario

#endif // SCENARIOS_LAUNCH_PASSED_STREAM_H
