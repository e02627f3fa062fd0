/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wire.h"

#include "settings.h"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace gpus
{

namespace
{

int g_socket = -1;
pid_t g_process = 0;

/// Lines that were received and not taken yet.
struct Lines
{
    std::mutex mutex;
    std::condition_variable more;
    std::deque<std::string> lines;
};

Lines&
TheLines()
{
    static Lines& lines = *new Lines;
    return lines;
}

/// Never waits for anything but the coordinator: a program may be telling it things that it has no
/// time for until its own lines are gone.
void
Receive()
{
    std::string rest;
    char bytes[65536];
    for (;;)
    {
        const ssize_t count = read(g_socket, bytes, sizeof(bytes));
        if (count < 0 && errno == EINTR)
        {
            continue;
        }
        if (count <= 0)
        {
            Fail("the capture that this program belongs to has ended");
        }
        rest.append(bytes, static_cast<std::size_t>(count));
        std::size_t begin = 0;
        const std::lock_guard<std::mutex> lock(TheLines().mutex);
        for (std::size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
        {
            TheLines().lines.push_back(rest.substr(begin, end - begin));
        }
        rest.erase(0, begin);
        TheLines().more.notify_one();
    }
}

void
HandOn(const std::function<void(const std::string&)>& take)
{
    Lines& received = TheLines();
    for (;;)
    {
        std::deque<std::string> lines;
        {
            std::unique_lock<std::mutex> lock(received.mutex);
            received.more.wait(lock, [&received] { return !received.lines.empty(); });
            lines.swap(received.lines);
        }
        for (const std::string& line : lines)
        {
            take(line);
        }
    }
}

} // namespace

void
Connect(std::function<void(const std::string&)> take)
{
    const std::string& path = TheSettings().socket;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    g_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (g_socket < 0 ||
        connect(g_socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    {
        Fail("the capture that this program belongs to has ended (" + path +
             " does not answer: " + std::strerror(errno) + ")");
    }
    g_process = getpid();
    // Signals are the program's own threads'.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(Receive).detach();
    std::thread(HandOn, std::move(take)).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // Who ends without a word was ended: by a signal, or by abort().
    on_exit(
        [](int status, void*) {
            if (getpid() == g_process)
            {
                Tell("bye " + std::to_string(status & 0xff));
            }
        },
        nullptr);
}

void
Tell(const std::string& line)
{
    static std::mutex mutex;
    if (getpid() != g_process)
    {
        Fail("a process that was forked uses GPUs that its parent used before: CUDA does not allow "
             "that");
    }
    const std::string bytes = line + "\n";
    const std::lock_guard<std::mutex> lock(mutex);
    for (std::size_t done = 0; done < bytes.size();)
    {
        const ssize_t count =
            send(g_socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count < 0 && errno != EINTR)
        {
            // The receiver hears of it, and why.
            return;
        }
        done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
}

} // namespace gpus
