# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Start, wait for and restart each server of the lab.  Sourced inside the namespaces; pids stand in $LAB/<name>.pid.

# A certificate authority of the lab's own, and one certificate for every server: names localhost and 127.0.0.1.
lab_tls() {
	local tls=$LAB/tls
	[ ! -e "$tls/server.pem" ] || return 0
	mkdir -p "$tls"
	local new="openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
	for ca in ca other-ca; do
		$new -x509 -subj "/CN=keelson lab $ca" -keyout "$tls/$ca.key" -out "$tls/$ca.pem" 2>/dev/null
	done
	$new -subj /CN=localhost -keyout "$tls/server.key" -out "$tls/server.csr" 2>/dev/null
	openssl x509 -req -in "$tls/server.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" -CAcreateserial -days 2 \
		-extfile <(echo 'subjectAltName=DNS:localhost,IP:127.0.0.1') -out "$tls/server.pem" 2>/dev/null
	chmod 644 "$tls"/*
}

postgresql_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)

postgresql_start() {
	export LAB_DB_URL=postgresql://zun:zunpass@127.0.0.1:5432/zun
	mkdir -p "$LAB/postgresql"
	chown postgres:postgres "$LAB/postgresql"
	if [ ! -e "$LAB/postgresql/data/PG_VERSION" ]; then
		(cd / && runuser -u postgres -- "$postgresql_bin/initdb" -D "$LAB/postgresql/data" -A trust \
			-E UTF8 --locale=C.UTF-8 --no-sync) >"$LAB/log/initdb.log" 2>&1 || die initdb "$LAB/log/initdb.log"
		cat >>"$LAB/postgresql/data/postgresql.conf" <<-END
			listen_addresses = '127.0.0.1'
			unix_socket_directories = '$LAB/postgresql'
			shared_buffers = 32MB
			max_connections = 100
			fsync = off
			password_encryption = scram-sha-256
			ssl = on
			ssl_cert_file = '$LAB/postgresql/server.pem'
			ssl_key_file = '$LAB/postgresql/server.key'
		END
		lab_tls
		install -o postgres -m 600 "$LAB/tls/server.key" "$LAB/tls/server.pem" "$LAB/postgresql/"
		cat >"$LAB/postgresql/data/pg_hba.conf" <<-END
			local all all trust
			host all all 127.0.0.1/32 scram-sha-256
		END
	fi
	(cd / && exec runuser -u postgres -- "$postgresql_bin/postgres" -D "$LAB/postgresql/data") \
		>>"$LAB/log/postgresql.log" 2>&1 </dev/null &
	echo $! >"$LAB/postgresql.pid"
}

sql() { psql -h "$LAB/postgresql" -U postgres -qtAX -v ON_ERROR_STOP=1 "$@"; }

postgresql_ready() {
	until_ok 30 PostgreSQL "$LAB/log/postgresql.log" sql -c 'select 1'
	[ "$(sql -c "select count(*) from pg_roles where rolname = 'zun'")" = 1 ] && return 0
	sql -c "create role zun login password 'zunpass'" -c 'create database zun owner zun'
	PGPASSWORD=zunpass psql -h 127.0.0.1 -U zun -d zun -qX1 -v ON_ERROR_STOP=1 \
		-f "$here/../../../unpriv/store/schema/zun-postgresql.sql" >"$LAB/log/schema.log" 2>&1 ||
		die "the schema does not load" "$LAB/log/schema.log"
}

rabbitmq_start() {
	export LAB_AMQP_URL=rabbit://guest:guest@127.0.0.1:5672/
	mkdir -p "$LAB/rabbitmq"
	chown rabbitmq:rabbitmq "$LAB/rabbitmq"
	: >"$LAB/rabbitmq/enabled_plugins" && echo '[].' >"$LAB/rabbitmq/enabled_plugins"
	cat >"$LAB/rabbitmq/rabbitmq.conf" <<-END
		listeners.tcp.default = 127.0.0.1:5672
		listeners.ssl.default = 127.0.0.1:5671
		ssl_options.cacertfile = $LAB/tls/ca.pem
		ssl_options.certfile = $LAB/tls/server.pem
		ssl_options.keyfile = $LAB/tls/server.key
		disk_free_limit.absolute = 50MB
	END
	lab_tls
	(cd / && exec setsid runuser -u rabbitmq -- env HOME="$LAB/rabbitmq" RABBITMQ_NODENAME=rabbit@localhost \
		RABBITMQ_MNESIA_BASE="$LAB/rabbitmq/mnesia" RABBITMQ_LOG_BASE="$LAB/rabbitmq/log" \
		RABBITMQ_CONFIG_FILE="$LAB/rabbitmq/rabbitmq.conf" RABBITMQ_CONF_ENV_FILE=/dev/null \
		RABBITMQ_ENABLED_PLUGINS_FILE="$LAB/rabbitmq/enabled_plugins" ERL_EPMD_ADDRESS=127.0.0.1 \
		RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none' \
		/usr/lib/rabbitmq/bin/rabbitmq-server) >>"$LAB/log/rabbitmq.log" 2>&1 </dev/null &
	echo $! >"$LAB/rabbitmq.pid"
}

amqp_port_open() { (exec 3<>/dev/tcp/127.0.0.1/5672 && printf 'AMQP\0\0\11\1' >&3 && read -r -N 4 -t 2 _ <&3) 2>/dev/null; }
rabbitmq_ready() { until_ok 90 RabbitMQ "$LAB/log/rabbitmq.log" amqp_port_open; }
rabbitmqctl_lab() {
	runuser -u rabbitmq -- env HOME="$LAB/rabbitmq" RABBITMQ_NODENAME=rabbit@localhost \
		RABBITMQ_CONF_ENV_FILE=/dev/null /usr/lib/rabbitmq/bin/rabbitmqctl -q "$@"
}

docker_start() {
	export LAB_DOCKER=$LAB/docker/docker.sock DOCKER_HOST=unix://$LAB/docker/docker.sock
	mkdir -p "$LAB/docker"
	(exec dockerd --host "unix://$LAB_DOCKER" --data-root "$LAB/docker/data" --exec-root "$LAB/docker/exec" \
		--pidfile "$LAB/docker/dockerd.pid" --bridge none --iptables=false --ip6tables=false --ip-forward=false \
		--ip-masq=false --cgroup-parent "/$LAB_CGROUP" --exec-opt native.cgroupdriver=cgroupfs \
		--group "${LAB_DOCKER_GROUP:-root}" ${LAB_DOCKER_OPTIONS:-}) >>"$LAB/log/dockerd.log" 2>&1 </dev/null &
	echo $! >"$LAB/docker.pid"
}
docker_ready() {
	until_ok 60 dockerd "$LAB/log/dockerd.log" curl -sf --unix-socket "$LAB_DOCKER" http://docker/_ping
	busybox_image
}
docker_stop() {
	[ -s "$LAB/docker.pid" ] || return 0
	local ids pid
	ids=$(docker ps -aq 2>/dev/null) || true
	# shellcheck disable=SC2086  # a list of ids
	[ -z "$ids" ] || docker rm -f $ids >/dev/null 2>&1 || true
	pid=$(<"$LAB/docker.pid")
	kill "$pid" 2>/dev/null || return 0
	for _ in $(seq 100); do [ -d "/proc/$pid" ] || return 0; sleep 0.1; done
	kill -9 "$pid" 2>/dev/null || true
}

# An image from Debian's static busybox, so that nothing is downloaded.
busybox_image() {
	docker image inspect busybox:latest >/dev/null 2>&1 && return 0
	local root=$LAB/busybox
	mkdir -p "$root/bin" "$root/tmp" "$root/etc" "$root/root"
	cp /bin/busybox "$root/bin/busybox"
	for applet in $(/bin/busybox --list); do
		[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
	done
	printf 'root:x:0:0:root:/root:/bin/sh\n' >"$root/etc/passwd"
	tar -C "$root" -c . | docker import -c 'CMD ["sh"]' -c 'ENV PATH=/bin' - busybox:latest >/dev/null
	rm -rf "$root"
}

registry_start() {
	export LAB_REGISTRY=127.0.0.1:5000
	mkdir -p "$LAB/registry"
	cat >"$LAB/registry.yml" <<-END
		version: 0.1
		log: {level: error}
		storage: {filesystem: {rootdirectory: $LAB/registry}, delete: {enabled: true}}
		http: {addr: 127.0.0.1:5000}
	END
	docker-registry serve "$LAB/registry.yml" >>"$LAB/log/registry.log" 2>&1 </dev/null &
	echo $! >"$LAB/registry.pid"
}
registry_ready() {
	until_ok 20 docker-registry "$LAB/log/registry.log" curl -sf http://127.0.0.1:5000/v2/
	[ -n "${LAB_DOCKER:-}" ] || return 0
	docker tag busybox:latest "$LAB_REGISTRY/busybox:1.35"
	docker push -q "$LAB_REGISTRY/busybox:1.35" >/dev/null
}
