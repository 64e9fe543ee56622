#include "ingest/shell_prompt.h"

#include <gmock/gmock.h>

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string host_of(std::string_view line) {
  const auto prompt = shell_prompt(line);
  return prompt ? std::string(prompt->host) : "(none)";
}

std::string asked(std::string_view line) {
  const auto prompt = shell_prompt(line);
  return prompt ? std::string(asked_host(*prompt)) : "(none)";
}

TEST(ShellPrompt, NamesItsHost) {
  for (const std::string_view line :
       {"ops@gpu07:~$ dmesg", "root@gpu07:~# dmesg", "root@gpu07:/var/log# ls", "root@gpu07:~#",
        "[root@gpu07 ~]# dmesg", "[me@gpu07 my-run]$ ls", "(base) me@gpu07:/srv/run$ ls",
        "(base) [me@gpu07 ~]$ ls", "gpu07:~ # dmesg", "gpu07:/srv # dmesg", "gpu07:~$ ls",
        "me@gpu07 ~ $ ls", "me@gpu07$ ls", "gpu07$ nvidia-smi", "gpu07# dmesg -T"})
    EXPECT_EQ(host_of(line), "gpu07") << line;
  EXPECT_EQ(host_of("me@n3.cluster.edu:~$ ls"), "n3.cluster.edu");
}

TEST(ShellPrompt, WithoutAHost) {
  EXPECT_EQ(host_of("$ dmesg"), "");
  EXPECT_EQ(host_of("root@098b49afe624:/# nvidia-smi"), "");  // a container's id
}

TEST(ShellPrompt, LinesThatAreNone) {
  for (const std::string_view line :
       {"", "$", "# a remark", "step 3 $ 4", "cost$ 5", "gpu07$ is slow", "a@b", "loss: ~$ 3",
        "[rank0]: RuntimeError", "[rank0]# x", "root@gpu07:~#dmesg", "2026-11-23 10:00:00 # x",
        "Mail to me@gpu07: $ 5", "-bad@-host:~$ ls", "[INFO] me@gpu07$ ls", "n3: # of GPUs: 8",
        "n3: /srv # of files: 8"})
    EXPECT_EQ(host_of(line), "(none)") << line;
}

TEST(AskedHost, TheMachineThatTheAnswerIsAbout) {
  EXPECT_EQ(asked("me@n3:~$ sudo dmesg -T | grep Xid"), "n3");
  EXPECT_EQ(asked("me@n3:~$ watch -n 1 nvidia-smi"), "n3");
  EXPECT_EQ(asked("me@n3:~$ /usr/bin/nvidia-smi -q"), "n3");
  EXPECT_EQ(asked("me@n3:~$ CUDA_VISIBLE_DEVICES=0 python3.11 train.py"), "n3");
  EXPECT_EQ(asked("me@n3:~$ tail -n 50 /var/log/syslog"), "n3");
  EXPECT_EQ(asked("me@n3:~$ ssh n4 dmesg"), "n4");
  EXPECT_EQ(asked("me@n3:~$ ssh -p 22 -tt root@n4 dmesg"), "n4");
}

TEST(AskedHost, CannotBeKnown) {
  for (const std::string_view line :
       {"me@n3:~$", "me@n3:~$ srun nvidia-smi", "me@n3:~$ kubectl logs train-0",
        "me@n3:~$ cat dmesg.txt", "me@n3:~$ less slurm-12.out", "me@n3:~$ mpirun ./train",
        "me@n3:~$ docker exec c dmesg", "me@n3:~$ ssh", "me@n3:~$ ssh -p", "$ dmesg"})
    EXPECT_EQ(asked(line), "") << line;
}

TEST(SessionParts, WhatEachCommandPrinted) {
  const auto parts =
      session_parts("before\nme@n3:~$ dmesg\none\r\ntwo\nme@n3:~$\n\nme@n3:~$ cat a\nthree");
  std::vector<std::string> texts, hosts;
  std::vector<std::uint64_t> offsets;
  for (const SessionPart& part : parts) {
    texts.emplace_back(part.text);
    hosts.push_back(part.host);
    offsets.push_back(part.offset);
  }
  EXPECT_THAT(texts, ElementsAre("before\n", "one\r\ntwo\n", "three"));
  EXPECT_THAT(hosts, ElementsAre("", "n3", ""));
  EXPECT_THAT(offsets, ElementsAre(0, 22, 56));
}

TEST(SessionParts, ATextWithoutAHostAtItsPromptIsNoSession) {
  EXPECT_THAT(session_parts(""), IsEmpty());
  EXPECT_THAT(session_parts("step 1\nstep 2\n"), IsEmpty());
  EXPECT_THAT(session_parts("$ python a.py\nstep 1\n"), IsEmpty());
  EXPECT_THAT(session_parts("me@n3:~$"), IsEmpty());  // and nothing was printed
}

}  // namespace
}  // namespace faultline
